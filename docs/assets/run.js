// The programs of a page, run in the reader's browser: each gets buttons, and below it what it
// prints. They share one Python, which a worker loads with the first click, and run in the order of
// the page. Without this script the page shows what was printed when it was built. The exercise of
// a lesson, in exercise.js, and the callback playground use the same Python.

const { base, hypothesis, bar } = document.currentScript.dataset;
const here = document.currentScript.src;
const programs = [];
// The words of the page's language by the English ones, which docs/scripts/languages.py puts on the page.
const words = JSON.parse(document.getElementById("words")?.textContent ?? "{}");
const BAR = new RegExp(bar, "g"); // a progress bar, which the built pages do not show either
const starters = []; // the buttons that need Python
let worker; // none before the first click, nor after an endless loop was stopped
let running; // what Python does now: where its output and its state are shown, and what is called at the end

// Browsers start no worker for a page that is a file: there the programs have no buttons.
if (location.protocol !== "file:") {
  for (const [index, shown] of document.querySelectorAll(".program").entries()) {
    programs.push(equipped(shown, index + 1));
  }
}

// A text in the language of the page, with its values filled in.
function say(text, values = {}) {
  return (words[text] ?? text).replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function equipped(shown, number) {
  const output = element("div", { className: "output" });
  output.setAttribute("aria-live", "polite");
  const built = shown.nextElementSibling?.matches(".printed, .guess") ? [shown.nextElementSibling] : [];
  const code = shown.querySelector("code").textContent.trimEnd();
  const name = say("program {number}", { number });
  const state = element("span", { className: "state" });
  state.setAttribute("role", "status");
  // `ran` is the text that the present Python has run.
  const program = { number, shown, output, built, code, state, ran: undefined };
  program.alone = shown.matches(".law"); // it needs none of those above it
  const label = program.alone ? say("Break it") : say("Run");
  program.run = starter(label, name, () => runUpTo(program));
  const text = (program.text = editor(say("Program {number}", { number }), code, program.run));
  text.hidden = true;
  program.stop = button(say("Stop"), name, halt, true);
  program.edit = button(say("Edit"), name, () => edit(program));
  program.reset = button(say("Reset"), name, () => reset(program), true);
  const bar = element("div", { className: "run" });
  bar.append(program.run, program.stop, program.edit, program.reset, state);
  shown.after(text, bar, output);
  output.append(...built);
  return program;
}

function element(name, properties) {
  return Object.assign(document.createElement(name), properties);
}

function button(label, name, onclick, hidden = false) {
  const made = element("button", { type: "button", textContent: label, onclick, hidden });
  made.setAttribute("aria-label", say("{label} {name}", { label, name }));
  return made;
}

// A button that needs Python; it keeps the keyboard's focus while Python is at work.
function starter(label, name, act, hidden = false) {
  const made = button(label, name, () => running || act(), hidden);
  made.setAttribute("aria-disabled", !!running);
  starters.push(made);
  return made;
}

// A text with the keys of an editor; Ctrl+Enter clicks the button.
function editor(label, value, run) {
  const text = element("textarea", { className: "editor", value, spellcheck: false });
  text.setAttribute("autocapitalize", "off");
  text.setAttribute("aria-label", label);
  text.addEventListener("input", () => fit(text));
  text.addEventListener("keydown", (event) => pressed(event, text, run));
  return text;
}

function edit(program) {
  program.shown.hidden = program.edit.hidden = true;
  program.text.hidden = program.reset.hidden = false;
  program.state.textContent = say("Tab indents, Escape leaves the text, Ctrl+Enter runs it.");
  fit(program.text);
  program.text.focus();
}

function reset(program) {
  program.text.value = program.code;
  program.shown.hidden = program.edit.hidden = false;
  program.text.hidden = program.reset.hidden = true;
  program.state.textContent = "";
  program.output.replaceChildren(...program.built);
  program.edit.focus();
}

// Run a program, and first those above it that it needs and Python has not run as they are now.
async function runUpTo(asked) {
  busy(asked, true);
  const above = programs.slice(0, asked.number - 1).filter((each) => !each.alone && !asked.alone);
  for (const program of [...above, asked]) {
    if (program !== asked && program.ran === program.text.value) continue;
    if (await run(program, asked)) continue;
    if (program !== asked) {
      const { number, state } = program;
      const values = { number, why: state.textContent };
      asked.state.textContent = say("Not run. Program {number}: {why}", values);
    }
    break;
  }
  busy(asked, false);
}

// Let the buttons show whether Python is at work, for a program or the exercise.
function busy(asked, yes) {
  for (const each of starters) each.setAttribute("aria-disabled", yes);
  if (document.activeElement === asked.stop) asked.run.focus();
  asked.stop.hidden = !yes;
}

// Run one program, for the one that was asked for; whether it came to its end.
async function run(program, asked) {
  const code = program.text.value;
  asked.state.textContent = say("Running program {number} …", { number: program.number });
  program.reset.hidden = false;
  program.output.replaceChildren();
  const all = programs.map((each) => each.text.value).join("\n");
  const message = {
    code,
    number: program.number,
    hypothesis: /^(from|import) hypothesis/m.test(all),
  };
  const { ended, note } = await inWorker(message, program.output, asked.state);
  program.state.textContent = note;
  program.ran = ended ? code : undefined;
  return ended;
}

// Send the worker a message, and wait for the end.
async function inWorker(message, output, state) {
  try {
    return await new Promise((finish) => {
      running = { output, state, finish, printed: "" };
      try {
        worker ??= opened();
        worker.postMessage(message);
      } catch {
        heard({ lost: say("Programs run only on pages that come from a server, not from a file.") });
      }
    });
  } finally {
    running = undefined;
  }
}

function opened() {
  const made = new Worker(new URL("run-worker.js", here), { type: "module" });
  made.onmessage = ({ data }) => heard(inLanguage(data));
  made.onerror = () => heard({ lost: say("The browser could not start what runs programs.") });
  made.postMessage({
    base: new URL(base, new URL("..", here)).href,
    minispore: new URL("minispore.zip", here).href,
    hypothesis,
  });
  return made;
}

// A message of the worker with its texts in the language of the page; some are a text and its values.
function inLanguage(message) {
  const texts = ["state", "note", "lost"].filter((each) => message[each]);
  return { ...message, ...Object.fromEntries(texts.map((each) => [each, say(...[message[each]].flat())])) };
}

// What the worker says: how far it is, what is printed, the end, or that it is of no more use.
function heard({ state, printed, ended, note = "", lost, stopped }) {
  if (state) running.state.textContent = state;
  if (printed) show(running.output, (running.printed += printed));
  if (ended !== undefined) running.finish({ ended, note });
  if (lost) {
    worker?.terminate();
    worker = undefined;
    for (const each of programs) each.ran = undefined;
    running?.finish({ ended: false, note: lost, stopped });
  }
}

function halt() {
  heard({ lost: say("Stopped. The next run starts Python again."), stopped: true });
}

// As docs/scripts/lessons.py shows it: a drawing, a page or text.
function show(output, printed) {
  const picture = printed.startsWith("<svg");
  const page = printed.startsWith("<!doctype html>");
  const shown = element(picture ? "figure" : page ? "iframe" : "pre", { className: "printed" });
  if (picture) shown.innerHTML = printed;
  else if (page) Object.assign(shown, { title: say("The printed page"), srcdoc: printed });
  else shown.append(element("code", { textContent: printed.replace(BAR, "\n").replace(/^\n+/, "").trimEnd() }));
  output.replaceChildren(shown);
}
