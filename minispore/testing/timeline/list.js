// The list of the events next to the time line, the details of the selected one, and the keys.

const $ = (id) => document.getElementById(id);
const list = $("list");
const ROW = 26;
const folded = new Set();
let rows = events; // the events that are not folded and match the search
let chosen = null;
let chosenSpan = null;

function element(tag, text, kind) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

// The first of some words, and the number of the others.
function firstOf(words, most) {
  const more = words.length - most;
  return words.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function hasChildren(event) {
  return (events[event.index + 1]?.depth ?? 0) > event.depth;
}

function findRows() {
  const words = $("find").value.toLowerCase().split(/\s+/).filter((word) => word);
  let hiddenBelow = Infinity;
  rows = events.filter((event) => {
    if (words.length) {
      const said = [label(event), event.raised, event.stop ? "stop" : "", ...event.changed];
      const text = said.join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    }
    if (event.depth > hiddenBelow) return false;
    hiddenBelow = folded.has(event.index) ? event.depth : Infinity;
    return true;
  });
  $("rows").style.height = `${rows.length * ROW}px`;
  drawRows();
}

function rowOf(event, number) {
  const row = element("div", "", "row");
  const parent = !$("find").value && hasChildren(event);
  const closed = folded.has(event.index);
  row.id = `event-${event.index}`;
  row.setAttribute("role", "treeitem");
  row.setAttribute("aria-level", event.depth + 1);
  row.setAttribute("aria-selected", event === chosen);
  if (parent) row.setAttribute("aria-expanded", !closed);
  row.style.top = `${number * ROW}px`;
  row.style.paddingLeft = `${4 + Math.min(event.depth, 12) * 12}px`;
  const fold = element("span", parent ? (closed ? "▸" : "▾") : "", "fold");
  fold.addEventListener("click", (click) => {
    if (!parent) return;
    click.stopPropagation();
    setFolded(event, !closed);
  });
  row.append(fold);
  if (event.source) {
    const dot = element("span", "", "dot");
    dot.style.background = `var(${colours.get(event.source)})`;
    row.append(dot);
  }
  row.append(element("span", label(event).slice(0, 300), "what"));
  if (event.stopsHere) row.append(element("span", "■ stop", "flag stop"));
  if (event.raised) row.append(element("span", `✕ ${event.raised.slice(0, 100)}`, "flag raised"));
  if (event.changed.length) {
    row.append(element("span", `◆ ${firstOf(event.changed, 3)}`.slice(0, 100), "flag changed"));
  }
  row.append(element("span", timeText(event.duration), "time"));
  row.addEventListener("click", () => choose(event));
  row.addEventListener("dblclick", () => lookAt(event));
  return row;
}

function drawRows() {
  const from = Math.max(Math.floor(list.scrollTop / ROW) - 5, 0);
  const to = Math.min(Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 5, rows.length);
  const shown = [];
  for (let number = from; number < to; number++) shown.push(rowOf(rows[number], number));
  const none = events.length ? "Nothing is called so." : "This trace has no events.";
  $("rows").replaceChildren(...(rows.length ? shown : [element("div", none, "none")]));
}

function setFolded(event, closed) {
  if (closed) folded.add(event.index);
  else folded.delete(event.index);
  findRows();
}

function choose(event, span = null) {
  [chosen, chosenSpan] = [event, span];
  // The folded events that contain it are unfolded.
  let depth = event.depth;
  let opened = false;
  for (let at = event.index - 1; at >= 0 && depth > 0; at--) {
    if (events[at].depth >= depth) continue;
    depth = events[at].depth;
    opened = folded.delete(at) || opened;
  }
  if (opened) findRows();
  const number = rows.indexOf(event);
  if (number >= 0) {
    const top = number * ROW;
    if (top < list.scrollTop || top + ROW > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 3;
    }
  }
  list.setAttribute("aria-activedescendant", `event-${event.index}`);
  drawRows();
  $("details").replaceChildren(...described(event, span));
  $("details").scrollTop = 0;
  bringIntoView(span ?? event);
}

function isChosen(item) {
  return chosenSpan ? item.span === chosenSpan : item.event === chosen && chosen !== null;
}

function facts(pairs) {
  const made = document.createElement("dl");
  for (const [name, text] of pairs) made.append(element("dt", name), element("dd", text));
  return made;
}

function times({ start, end }, duration = end - start) {
  return [["begins at", timeText(start)], ["lasts", timeText(duration)]];
}

function described(event, span) {
  if (span && span.first !== span.last) {
    const made = [element("h2", span.text)];
    if (!span.last) made.push(element("p", "It was left before its end.", "raised"));
    const text = span.last ? `${span.first.name} to ${span.last.name}` : span.first.name;
    return [...made, facts([["from", text], ...times(span)])];
  }
  const made = [element("h2", label(event))];
  if (event.stop) made.push(element("p", "■ A stop was requested in it.", "stop"));
  if (event.raised) made.push(element("p", `✕ ${event.raised} came out of it.`, "raised"));
  if (event.changed.length) {
    made.push(element("p", `◆ It changed ${firstOf(event.changed, 20)}.`, "changed"));
  }
  const pairs = [["where", where(event)], ...times(event, event.duration)];
  if (event.source) {
    const total = totals.get(event.source);
    pairs.push(["call", `number ${event.call} of ${total.calls}, ${timeText(total.time)} in all`]);
  } else {
    const calls = new Map();
    for (const { source, duration } of inside(event)) {
      if (!source) continue;
      const before = calls.get(source) ?? { number: 0, time: 0 };
      calls.set(source, { number: before.number + 1, time: before.time + duration });
    }
    const named = [...calls].map(([source, { number, time }]) => (
      `${source} (${number > 1 ? `${number} calls, ` : ""}${timeText(time)})`));
    pairs.push(["calls in it", firstOf(named, 20) || "none"]);
  }
  return [...made, facts(pairs)];
}

function hideHint() {
  $("hint").hidden = true;
}

function hover(pointer, here) {
  const item = pointer && pointer.pointerType === "mouse" ? itemAt(here.x, here.y, 5) : null;
  if (item !== hovered) {
    hovered = item;
    redraw();
  }
  if (!item) {
    const lane = pointer && here.x < gutter && laneAt(here.y);
    return lane ? showHint(pointer, aboutLane(lane)) : hideHint();
  }
  const event = item.event ?? item.span.first;
  const about = [element("strong", (item.span ? item.text : label(event)).slice(0, 300))];
  about.push(element("p", `${timeText(item.end - item.start)}, ${where(event)}`));
  if (!item.span && event.stop) about.push(element("p", "■ requests a stop", "stop"));
  if (!item.span && event.raised) about.push(element("p", `✕ ${event.raised}`, "raised"));
  if (!item.span && event.changed.length) {
    about.push(element("p", `◆ changes ${firstOf(event.changed, 3)}`, "changed"));
  }
  return showHint(pointer, about);
}

function aboutLane({ text, kind, items }) {
  const total = kind === "callback" ? `, ${timeText(totals.get(text).time)} in all` : "";
  const what = { callback: "call", loop: "event", span: "bar" }[kind];
  return [element("strong", text.slice(0, 300)), element("p", counted(items.length, what) + total)];
}

function showHint(pointer, about) {
  const hint = $("hint");
  hint.replaceChildren(...about);
  hint.hidden = false;
  hint.style.left = `${Math.min(pointer.clientX + 14, innerWidth - hint.offsetWidth - 8)}px`;
  const below = pointer.clientY + 16;
  const above = pointer.clientY - hint.offsetHeight - 10;
  hint.style.top = `${below + hint.offsetHeight < innerHeight ? below : above}px`;
}

function step(by) {
  if (!rows.length) return;
  const at = rows.indexOf(chosen);
  choose(rows[Math.min(Math.max(at < 0 ? 0 : at + by, 0), rows.length - 1)]);
}

// Choose the next of some events; after the last one, the first.
function next(some, by = 1) {
  if (!some.length) return;
  const at = some.indexOf(chosen);
  choose(some[at < 0 ? (by > 0 ? 0 : some.length - 1) : (at + by + some.length) % some.length]);
}

const anywhere = {
  "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6),
  0: () => look(home.from, home.to), n: () => next(marks), p: () => next(marks, -1),
  c: () => next(changes),
  "/": () => $("find").focus(),
};
const inBoth = {
  ArrowUp: () => step(-1), ArrowDown: () => step(1),
  PageUp: () => step(-20), PageDown: () => step(20),
  Home: () => step(-Infinity), End: () => step(Infinity),
  Enter: () => chosen && lookAt(chosenSpan ?? chosen),
};
const inTimeline = { ArrowLeft: () => pan(-80), ArrowRight: () => pan(80) };
const inList = {
  ArrowLeft: () => chosen && hasChildren(chosen) && setFolded(chosen, true),
  ArrowRight: () => chosen && setFolded(chosen, false),
};

function listen(target, keys, unless = () => false) {
  target.addEventListener("keydown", (press) => {
    if (press.ctrlKey || press.metaKey || press.altKey || unless(press)) return;
    if (!Object.hasOwn(keys, press.key)) return;
    press.preventDefault();
    keys[press.key]();
  });
}
listen(document, anywhere, (press) => press.target === $("find"));
listen(timeline, { ...inBoth, ...inTimeline });
listen(list, { ...inBoth, ...inList });
listen($("find"), { ArrowDown: () => list.focus(), Enter: () => { list.focus(); step(0); } });

$("find").addEventListener("input", findRows);
list.addEventListener("scroll", drawRows);
new ResizeObserver(drawRows).observe(list);
$("nearer").addEventListener("click", () => zoom(0.6));
$("farther").addEventListener("click", () => zoom(1 / 0.6));
$("fit").addEventListener("click", () => look(home.from, home.to));

const system = matchMedia("(prefers-color-scheme: dark)");
function setDark(dark) {
  document.documentElement.classList.toggle("dark", dark);
  redraw();
}
setDark(system.matches);
system.addEventListener("change", () => setDark(system.matches));
$("theme").addEventListener("click", () => {
  setDark(!document.documentElement.classList.contains("dark"));
});

function counted(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}
const runs = events.filter((event) => event.name === "run" && !event.source).length;
const summary = [counted(events.length, "event"), counted(runs, "run")];
summary.push(counted(sources.length, "callback"));
if (changes.length) summary.push(counted(changes.length, "change"));
if (events.length) summary.push(timeText(lastEnd - firstStart));
$("summary").textContent = summary.map((part) => part.replaceAll(" ", "\u00a0")).join(" · ");
for (const event of marks.slice(0, 12)) {
  const text = event.raisesHere ? `✕ ${event.raised} in ` : "■ stop in ";
  const name = `${text}${(event.source || event.name).slice(0, 100)}, ${where(event)}`;
  const chip = element("button", name, event.raisesHere ? "raised" : "stop");
  chip.addEventListener("click", () => choose(event));
  $("marks").append(chip);
}
if (marks.length > 12) $("marks").append(element("span", `and ${marks.length - 12} more: key n`));
$("details").append(element("p", events.length
  ? "Select an event in the time line or in the list. A bar between two events lasts from the "
    + "beginning of the first to the end of the second. ◆ is a callback that changed something, "
    + "■ one that requested a stop, ✕ an exception."
  : "This trace has no events."));
findRows();
