// The programs of a page, run in the reader's browser: each gets buttons, and below it what it
// prints. They share one Python, which a worker loads with the first click, and run in the order of
// the page. Without this script the page shows what was printed when it was built.

const { base, hypothesis } = document.currentScript.dataset;
const here = document.currentScript.src;
const programs = [];
let worker; // none before the first click, nor after an endless loop was stopped
let running; // the program whose end is waited for, what it has printed, and whom to tell

// Browsers start no worker for a page that is a file: there the programs have no buttons.
if (location.protocol !== "file:") {
  for (const [index, shown] of document.querySelectorAll(".program").entries()) {
    programs.push(equipped(shown, index + 1));
  }
}

function equipped(shown, number) {
  const output = element("div", { className: "output" });
  output.setAttribute("aria-live", "polite");
  const built = shown.nextElementSibling?.matches(".printed") ? [shown.nextElementSibling] : [];
  const code = shown.querySelector("code").textContent.trimEnd();
  const text = element("textarea", { className: "editor", value: code, hidden: true });
  text.spellcheck = false;
  text.setAttribute("autocapitalize", "off");
  text.setAttribute("aria-label", `Program ${number}`);
  const state = element("span", { className: "state" });
  state.setAttribute("role", "status");
  // `ran` is the text that the present Python has run.
  const program = { number, shown, text, output, built, code, state, ran: undefined };
  program.run = button("Run", number, () => runUpTo(program));
  program.stop = button("Stop", number, halt, true);
  program.edit = button("Edit", number, () => edit(program));
  program.reset = button("Reset", number, () => reset(program), true);
  text.addEventListener("input", () => fit(text));
  text.addEventListener("keydown", (event) => pressed(event, program));
  const bar = element("div", { className: "run" });
  bar.append(program.run, program.stop, program.edit, program.reset, state);
  shown.after(text, bar, output);
  output.append(...built);
  return program;
}

function element(name, properties) {
  return Object.assign(document.createElement(name), properties);
}

function button(label, number, onclick, hidden = false) {
  const made = element("button", { type: "button", textContent: label, onclick, hidden });
  made.setAttribute("aria-label", `${label} program ${number}`);
  return made;
}

function edit(program) {
  program.shown.hidden = program.edit.hidden = true;
  program.text.hidden = program.reset.hidden = false;
  program.state.textContent = "Tab indents, Escape leaves the text, Ctrl+Enter runs it.";
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

function fit(text) {
  text.rows = text.value.split("\n").length;
}

function pressed(event, program) {
  const { text } = program;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    runUpTo(program);
  } else if (event.key === "Escape") {
    program.run.focus();
  } else if (event.key === "Tab" && !event.shiftKey) {
    event.preventDefault();
    insert(text, "    ");
  } else if (event.key === "Enter") {
    event.preventDefault();
    const line = text.value.slice(0, text.selectionStart).split("\n").pop();
    insert(text, `\n${line.match(/^ */)[0]}${line.trimEnd().endsWith(":") ? "    " : ""}`);
  }
}

function insert(text, what) {
  // The old command, unlike `setRangeText`, can be undone by the reader.
  if (!document.execCommand("insertText", false, what)) {
    text.setRangeText(what, text.selectionStart, text.selectionEnd, "end");
    fit(text);
  }
}

// Run a program, and first those above it that Python has not run as they are now.
async function runUpTo(asked) {
  if (running) return;
  able(false);
  asked.stop.hidden = false;
  for (const program of programs.slice(0, asked.number)) {
    if (program !== asked && program.ran === program.text.value) continue;
    if (await run(program, asked)) continue;
    if (program !== asked) {
      asked.state.textContent = `Not run. Program ${program.number}: ${program.state.textContent}`;
    }
    break;
  }
  able(true);
  if (document.activeElement === asked.stop) asked.run.focus();
  asked.stop.hidden = true;
}

// Whether programs can be run now; the buttons keep the keyboard's focus meanwhile.
function able(yes) {
  for (const program of programs) program.run.setAttribute("aria-disabled", !yes);
}

// Run one program, for the one that was asked for; whether it came to its end.
async function run(program, asked) {
  const code = program.text.value;
  const { ended, note } = await new Promise((finish) => {
    running = { program, asked, finish, printed: "" };
    asked.state.textContent = `Running program ${program.number} …`;
    program.reset.hidden = false;
    program.output.replaceChildren();
    try {
      worker ??= opened();
      worker.postMessage({ code, number: program.number });
    } catch {
      heard({ lost: "Programs run only on pages that come from a server, not from a file." });
    }
  });
  running = undefined;
  program.state.textContent = note;
  program.ran = ended ? code : undefined;
  return ended;
}

function opened() {
  const made = new Worker(new URL("run-worker.js", here), { type: "module" });
  made.onmessage = ({ data }) => heard(data);
  made.onerror = () => heard({ lost: "The browser could not start what runs programs." });
  const all = programs.map((program) => program.code).join("\n");
  made.postMessage({
    base: new URL(base, new URL("..", here)).href,
    minispore: new URL("minispore.zip", here).href,
    hypothesis: /^(from|import) hypothesis/m.test(all) ? hypothesis : "",
  });
  return made;
}

// What the worker says: how far it is, what is printed, the end, or that it is of no more use.
function heard({ state, printed, ended, note = "", lost }) {
  if (state) running.asked.state.textContent = state;
  if (printed) show(running.program.output, (running.printed += printed));
  if (ended !== undefined) running.finish({ ended, note });
  if (lost) {
    worker?.terminate();
    worker = undefined;
    for (const each of programs) each.ran = undefined;
    running?.finish({ ended: false, note: lost });
  }
}

function halt() {
  heard({ lost: "Stopped. Python begins anew with the next run." });
}

// As docs/lessons.py shows it: a drawing, a page or text.
function show(output, printed) {
  const picture = printed.startsWith("<svg");
  const page = printed.startsWith("<!doctype html>");
  const shown = element(picture ? "figure" : page ? "iframe" : "pre", { className: "printed" });
  if (picture) shown.innerHTML = printed;
  else if (page) Object.assign(shown, { title: "The printed page", srcdoc: printed });
  else shown.append(element("code", { textContent: printed.trimEnd() }));
  output.replaceChildren(shown);
}
