// The model of the page: the events of the trace, the spans between a begin event and its end
// event, the lanes in which they are drawn, and the events that have a mark.

const trace = JSON.parse(document.getElementById("trace").textContent);

// Python's strings may contain lone surrogates, which some browsers cannot encode.
const wellFormed = (value) => (
  typeof value === "string" ? value.toWellFormed() : Array.isArray(value) ? value.map(wellFormed) : value
);
const events = trace.events.map((row, index) => {
  const event = Object.fromEntries(trace.fields.map((field, at) => [field, wellFormed(row[at])]));
  event.index = index;
  event.end = Math.min(event.start + event.duration, 1e300);
  return event;
});

// The steps of an evaluation in `fit` are its own: `trained` is the step of the training then.
let trained = null;
for (const event of events) {
  if (event.name === "run" && !event.source) trained = null;
  else if (!event.name.startsWith("on_eval_")) trained = event.step ?? trained;
  event.trained = trained;
}

// Where an event is in its run, as text.
function where(event) {
  const parts = [];
  const evaluates = event.epoch !== null && event.name.startsWith("on_eval_");
  if (event.epoch !== null) parts.push(`epoch ${event.epoch}`);
  if (evaluates && event.trained !== null) parts.push(`step ${event.trained}`);
  if (event.step !== null) parts.push(`step ${event.step}${evaluates ? " of the evaluation" : ""}`);
  return parts.join(", ") || "before the first step";
}

function label(event) {
  if (event.source) return `${event.source}.${event.name}`;
  for (const word of ["epoch", "step"]) {
    if (event.name.includes(`_${word}_`) && event[word] !== null) {
      return `${event.name} ${event[word]}`;
    }
  }
  return event.name;
}

function timeText(seconds) {
  const size = Math.abs(seconds);
  if (size >= 1e6) return `${seconds.toExponential(2)} s`;
  if (size >= 120) return `${Math.floor(seconds / 60)} min ${(seconds % 60).toFixed(0)} s`;
  if (size >= 1) return `${seconds.toFixed(3)} s`;
  if (size >= 1e-3 || size === 0) return `${(seconds * 1e3).toFixed(3)} ms`;
  return `${(seconds * 1e6).toFixed(1)} µs`;
}

// The events inside an event: the following ones that are nested in it and began before its end.
function inside(event) {
  const found = [];
  for (let at = event.index + 1; at < events.length; at++) {
    const other = events[at];
    if (other.depth <= event.depth || other.start > event.end) break;
    found.push(other);
  }
  return found;
}

// An event whose inner event requests the same stop, or raises the same exception, has no mark.
for (const event of events) {
  const within = event.stop || event.raised ? inside(event) : [];
  event.stopsHere = event.stop && !within.some((other) => other.stop);
  event.raisesHere = event.raised && !within.some((other) => other.raised === event.raised);
}
const marks = events.filter((event) => event.stopsHere || event.raisesHere);
marks.sort((one, other) => one.end - other.end);
const changes = events.filter((event) => event.changed.length);

// The spans from on_..._begin to its on_..._end, and the runs. A span without an end event lasts
// until the end of the span that contains it.
function findSpans() {
  const spans = [];
  const open = [];
  const leave = (moment) => {
    const span = open.pop();
    if (span.last) return;
    const around = open.findLast((other) => other.last === other.first);
    span.end = Math.max(span.first.end, Math.min(moment, around ? around.end : moment));
  };
  for (const event of events) {
    const [, what, which] = (!event.source && event.name.match(/^(.*)_(begin|end)$/)) || [];
    while (open.length && open.at(-1).first.depth >= event.depth) {
      const span = open.at(-1);
      if (which === "end" && span.what === what && span.first.depth === event.depth) {
        span.last = event;
        span.end = event.end;
      }
      leave(event.start);
    }
    const run = event.name === "run" && !event.source;
    if (which === "begin" || run) {
      const text = run ? "run" : label(event).replace(/^on_/, "").replace("_begin", "");
      const span = { what, text: text.replaceAll("_", " "), first: event, level: open.length };
      span.kind = run ? "run" : what.replace(/^on_/, "").replaceAll("_", " ");
      span.start = event.start;
      if (run) [span.last, span.end] = [event, event.end];
      spans.push(span);
      open.push(span);
    }
  }
  while (open.length) leave(Math.max(...open.map((span) => span.first.end), lastEnd));
  return spans;
}

const firstStart = events.reduce((least, event) => Math.min(least, event.start), Infinity);
const lastEnd = events.reduce((most, event) => Math.max(most, event.end), 0);

function makeLane(text, kind, items, colour) {
  items.sort((one, other) => one.start - other.start);
  let reached = -Infinity; // the latest end so far: where a search from the left may begin
  for (const item of items) {
    reached = Math.max(reached, item.end);
    item.reached = reached;
  }
  return { text, kind, items, colour };
}

const spans = findSpans();
// In the order of the list of callbacks, as far as it is known.
const positions = new Map();
for (const { source, position } of events) {
  if (source && !positions.has(source)) positions.set(source, position ?? 1e9);
}
const sources = [...positions.keys()];
sources.sort((one, other) => positions.get(one) - positions.get(other));
const colours = new Map(sources.map((source, number) => [source, `--lane-${number % 8}`]));

function makeLanes() {
  const levels = [];
  for (const span of spans) (levels[span.level] ??= []).push({ ...span, span });
  const lanes = levels.map((items) => {
    const kinds = [...new Set(items.map((item) => item.kind))];
    return makeLane(kinds.join(", "), "span", items, "--span");
  });
  const calls = new Map(sources.map((source) => [source, []]));
  const loop = [];
  for (const event of events) {
    const item = { start: event.start, end: event.end, text: label(event), event };
    if (event.source) calls.get(event.source).push({ ...item, text: event.name });
    else if (event.name !== "run") loop.push(item);
  }
  if (loop.length) lanes.push(makeLane("events", "loop", loop, "--loop"));
  for (const [source, items] of calls) {
    lanes.push(makeLane(source, "callback", items, colours.get(source)));
  }
  return lanes;
}
const lanes = makeLanes();

const totals = new Map(sources.map((source) => [source, { calls: 0, time: 0 }]));
for (const event of events) {
  if (!event.source) continue;
  const total = totals.get(event.source);
  event.call = ++total.calls;
  total.time += event.duration;
}
