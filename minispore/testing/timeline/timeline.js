// The time line: lanes on a canvas, and the handling of the pointer.

const timeline = document.getElementById("timeline");
const canvas = timeline.querySelector("canvas");
const pen = canvas.getContext("2d");
const LANE = 26;
const AXIS = 36; // times, and below them the marks
const FONT = "12px system-ui, sans-serif";

const room = Math.max(lastEnd - firstStart, 0) || 1e-6;
const home = events.length
  ? { from: firstStart - room * 0.01, to: firstStart + room * 1.01 }
  : { from: 0, to: 1e-3 };
const view = { ...home };
let gutter = 130;
let plot = 600; // the width next to it
let hovered = null; // an item of a lane
let drawing = false;

// In a frame of another page, the wheel and vertical gestures scroll that page.
const framed = window.parent !== window;
document.documentElement.classList.toggle("framed", framed);

document.documentElement.style.setProperty("--lanes", `${AXIS + lanes.length * LANE + 8}px`);

function xOf(time) {
  return gutter + ((time - view.from) / (view.to - view.from)) * plot;
}

function timeOf(x) {
  return view.from + ((x - gutter) / plot) * (view.to - view.from);
}

// Show these times, limited to those of the trace.
function look(from, to) {
  const most = home.to - home.from;
  const least = Math.max(2e-7, lastEnd * 1e-12); // no number distinguishes shorter times
  const length = Math.min(Math.max(to - from, least), most);
  view.from = Math.min(Math.max((from + to - length) / 2, home.from), home.to - length);
  view.to = view.from + length;
  hover(null);
  redraw();
}

function zoom(factor, x = gutter + plot / 2) {
  const centre = timeOf(Math.max(x, gutter));
  look(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
}

function pan(pixels) {
  const shift = (pixels / plot) * (view.to - view.from);
  look(view.from + shift, view.to + shift);
}

function lookAt({ start, end }) {
  const length = (end - start) * 1.4 || (home.to - home.from) / 100;
  look((start + end - length) / 2, (start + end + length) / 2);
}

function bringIntoView(event) {
  if (event.end >= view.from && event.start <= view.to) return redraw();
  const length = view.to - view.from;
  return look(event.start - length / 2, event.start + length / 2);
}

function redraw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    draw();
  });
}

function shortened(text, width) {
  let shown = text.slice(0, 200);
  if (shown === text && pen.measureText(shown).width <= width) return shown;
  let low = 0;
  let high = shown.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (pen.measureText(`${shown.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low ? `${shown.slice(0, low)}…` : "";
}

// The index in a lane from which on items may end after this time.
function firstAt(items, time) {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle].reached < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function draw() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  gutter = width < 560 ? 84 : 130;
  plot = width - gutter;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.font = FONT;
  pen.textBaseline = "middle";
  pen.fillStyle = colour("--stripe");
  const shift = AXIS - timeline.scrollTop;
  for (let n = 1; n < lanes.length; n += 2) pen.fillRect(0, shift + n * LANE, width, LANE);
  drawAxis(width, height, colour);
  pen.save();
  pen.beginPath();
  pen.rect(0, AXIS, width, height - AXIS);
  pen.clip();
  lanes.forEach((lane, number) => {
    const top = shift + number * LANE;
    if (top + LANE >= AXIS && top <= height) drawLane(lane, top, width, colour);
  });
  pen.restore();
  drawMarks(width, height, colour);
}

function drawLane(lane, top, width, colour) {
  pen.fillStyle = colour("--text");
  pen.fillText(shortened(lane.text, gutter - 14), 8, top + LANE / 2);
  pen.save();
  pen.beginPath();
  pen.rect(gutter, top, width - gutter, LANE);
  pen.clip();
  let done = -Infinity; // what ends before this would be drawn over what is there
  const diamonds = []; // their places
  for (let at = firstAt(lane.items, view.from); at < lane.items.length; at++) {
    const item = lane.items[at];
    if (item.start > view.to) break;
    const marked = item === hovered || isChosen(item);
    if (item.event?.changed.length && item.end >= view.from) {
      const x = (Math.max(xOf(item.start), gutter) + Math.min(xOf(item.end), width)) / 2;
      if (!(x < diamonds.at(-1) + 10)) diamonds.push(x);
    }
    if (item.end < done && !marked) continue;
    const left = Math.max(xOf(item.start), gutter - 4);
    const right = Math.max(Math.min(xOf(item.end), width + 4), left + 2);
    done = Math.max(done, timeOf(Math.floor(right)));
    drawItem(item, lane, left, right, top, marked, colour);
  }
  for (const x of diamonds) drawDiamond(x, top + LANE / 2, colour);
  pen.restore();
}

// Draw the mark of a change.
function drawDiamond(x, y, colour) {
  const size = 6;
  pen.beginPath();
  for (const [dx, dy] of [[-size, 0], [0, -size], [size, 0], [0, size]]) pen.lineTo(x + dx, y + dy);
  pen.closePath();
  pen.fillStyle = colour("--change");
  pen.fill();
  pen.strokeStyle = colour("--back");
  pen.lineWidth = 1.5;
  pen.stroke();
}

function drawItem(item, lane, left, right, top, marked, colour) {
  const gap = right - left > 6 ? 1 : 0;
  const box = [left, top + 3, right - left - gap, LANE - 6];
  pen.fillStyle = colour(lane.colour);
  pen.globalAlpha = item.span && !item.span.last ? 0.5 : 1;
  pen.fillRect(...box);
  pen.globalAlpha = 1;
  if (marked) {
    pen.strokeStyle = colour("--text");
    pen.lineWidth = 2;
    pen.strokeRect(box[0], box[1], Math.max(box[2], 1), box[3]);
  }
  if (right - left < 26) return;
  pen.fillStyle = colour(lane.kind === "span" ? "--span-text" : "--back");
  const from = Math.max(left, gutter) + 5;
  pen.fillText(shortened(item.text, right - from - 4), from, top + LANE / 2);
}

function drawAxis(width, height, colour) {
  const wished = ((view.to - view.from) * 90) / plot;
  const power = 10 ** Math.floor(Math.log10(wished));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= wished);
  const largest = Math.max(Math.abs(view.to), step);
  const [unit, name] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]].find(([size]) => largest >= size)
    ?? [1e-6, "µs"];
  const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / unit) + 1e-9)));
  pen.fillStyle = colour("--back");
  pen.fillRect(0, 0, width, AXIS);
  for (let n = Math.max(Math.ceil(view.from / step), 0); n * step <= view.to; n++) {
    const x = xOf(n * step);
    if (x < gutter) continue;
    pen.fillStyle = colour("--line");
    pen.fillRect(Math.round(x), 8, 1, height);
    pen.fillStyle = colour("--soft");
    const text = (n * step) / unit;
    const shown = text >= 1e9 ? text.toExponential(2) : text.toFixed(digits);
    pen.fillText(`${shown} ${name}`, x + 5, 11);
  }
  pen.fillStyle = colour("--line");
  pen.fillRect(0, AXIS - 1, width, 1);
  pen.fillRect(gutter - 1, 0, 1, height);
}

function drawMarks(width, height, colour) {
  let free = -Infinity;
  for (const event of marks) {
    const x = xOf(event.end);
    if (x < gutter || x > width || x < free) continue;
    free = x + 3;
    pen.fillStyle = colour(event.raisesHere ? "--raise" : "--stop");
    pen.fillRect(Math.round(x), AXIS - 4, 2, height);
    pen.font = "bold 13px system-ui, sans-serif";
    pen.fillText(event.raisesHere ? "✕" : "■", Math.round(x) - 4, AXIS - 10);
    pen.font = FONT;
  }
}

function laneAt(y) {
  return y < AXIS ? undefined : lanes[Math.floor((y - AXIS + timeline.scrollTop) / LANE)];
}

// The item at a point, or near enough for a touch.
function itemAt(x, y, near) {
  const lane = laneAt(y);
  if (!lane || x < gutter) return null;
  let best = null;
  let least = near;
  const reach = timeOf(x + near);
  for (let at = firstAt(lane.items, timeOf(x - near)); at < lane.items.length; at++) {
    const item = lane.items[at];
    if (item.start > reach) break;
    const distance = Math.max(xOf(item.start) - x, x - xOf(item.end), 0);
    if (distance <= least) [best, least] = [item, distance];
  }
  return best;
}

const pointers = new Map();
let moved = 0;

function place(event) {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  if (!pointers.size) moved = 0;
  pointers.set(event.pointerId, place(event));
  if (pointers.size > 1) moved = Infinity;
});

canvas.addEventListener("pointermove", (event) => {
  const here = place(event);
  const before = pointers.get(event.pointerId);
  if (!before) return hover(event, here);
  const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
  moved += Math.hypot(here.x - before.x, here.y - before.y);
  if (other) {
    const apart = (point) => Math.max(Math.abs(point.x - other.x), 20);
    zoom(apart(before) / apart(here), (here.x + other.x) / 2);
    pan((before.x - here.x) / 2);
  } else if (moved > 4) {
    timeline.classList.add("dragged");
    hideHint();
    pan(before.x - here.x);
    timeline.scrollTop += before.y - here.y;
  }
  return pointers.set(event.pointerId, here);
});

canvas.addEventListener("pointerup", (event) => {
  const here = place(event);
  if (pointers.has(event.pointerId) && moved <= 4) {
    const item = itemAt(here.x, here.y, event.pointerType === "mouse" ? 5 : 14);
    if (item) choose(item.event ?? item.span.first, item.span);
  }
});
for (const kind of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(kind, (event) => {
    pointers.delete(event.pointerId);
    timeline.classList.remove("dragged");
  });
}
canvas.addEventListener("dblclick", (event) => {
  const { x, y } = place(event);
  const item = itemAt(x, y, 5);
  if (item) lookAt(item);
});
canvas.addEventListener("pointerleave", () => hover(null));
canvas.addEventListener("wheel", (event) => {
  if (framed && !event.ctrlKey) return;
  event.preventDefault();
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    pan(event.deltaX || event.deltaY);
  } else {
    zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY)) / 300), place(event).x);
  }
}, { passive: false });
timeline.addEventListener("scroll", redraw);
new ResizeObserver(redraw).observe(timeline);
