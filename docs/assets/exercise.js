// The exercise of a lesson, in the reader's browser: an editor, and the commands of `minispore
// learn`, which minispore/_course/browser.py carries out. The browser stores the files of the
// learner's folder. This script uses the functions of run.js.

const FOLDER = "minispore-course";
const PREFIX = `${FOLDER}/`; // of the names under which the browser stores the files
const { host } = new URL(base, here);
const DOWNLOADS = hypothesis.endsWith(".whl")
  ? say(" The first check downloads Python, numpy and hypothesis, about 15 MB, from {host}.", { host })
  : say(
      " The first check downloads Python and numpy, about 15 MB, from {host}, and hypothesis from the Python package index.",
      { host },
    );
const HOW =
  say("Solve it here, in your browser, or on your computer with the commands above.") +
  DOWNLOADS +
  say(" Tab indents, Escape leaves the text, Ctrl+Enter checks it.");
const STORED =
  say("Only this browser has your files and your progress.") +
  say(" Export writes them to a zip archive with the folder {folder} of the command minispore learn.", {
    folder: FOLDER,
  }) +
  say(" Import replaces them by such an archive, or by the files of such a folder.");
const UNSTORED = say(
  "This browser refuses to store your progress: export it before you leave this page.",
);
const unstored = {}; // the files that it refuses to store, by their names
const KEYWORDS =
  "and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|" +
  "import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield";
const STRING = String.raw`"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?`;
// The parts of Python code that have a colour: comments, strings, keywords and numbers.
const PARTS = new RegExp(`(#.*)|(${STRING})|\\b(${KEYWORDS})\\b|\\b(\\d[\\w.]*)`, "g");

if (location.protocol !== "file:") {
  for (const place of document.querySelectorAll(".exercise")) equipExercise(place);
}

function equipExercise(place) {
  const { number, lessons, language, file, text: initial, beginning, continues } = place.dataset;
  const instead = place.firstElementChild; // what to do without Python
  const state = element("span", { className: "state" });
  state.setAttribute("role", "status");
  const output = element("div", { className: "output" });
  output.setAttribute("aria-live", "polite");

  const name = say("lesson {number}", { number });
  const run = starter(say("Check"), name, check);
  // What precedes the code to write is folded.
  const rest = editor(say("The rest of your file"), "", run);
  const text = editor(say("Your solution of lesson {number}", { number }), "", run);
  const folded = element("details", { className: "rest" });
  const range = element("summary", {});
  folded.append(range, coloured(rest));
  const stop = button(say("Stop"), name, halt, true);
  const hint = starter(say("Hint"), name, () => act("hint"));
  const solution = starter(say("Solution"), name, () => act("solution"));
  const train = starter(say("Train"), say("a network with your code"), () => act("run"));
  const reset = starter(say("Start over"), name, () => act("reset"));
  const own = starter(
    say("Continue your solution of lesson {number}", { number: continues }),
    name,
    () => act("start"),
  );
  const asked = { run, stop };
  let hinted = 0; // without Python
  for (const part of [rest, text]) {
    part.addEventListener("input", () => {
      store({ [file]: whole() });
      refresh();
    });
  }

  const bar = element("div", { className: "run" });
  bar.append(run, stop, hint, solution, train, reset, own, state);
  const progress = element("details", { className: "progress" });
  const summary = element("summary", {});
  const about = element("p", {});
  const chosen = element("input", { type: "file", multiple: true, hidden: true });
  chosen.accept = ".zip,.py,.json";
  chosen.onchange = receive;
  const folder = element("div", { className: "run" });
  folder.append(
    starter(say("Export"), say("your progress"), () => act("export")),
    starter(say("Import"), say("your progress"), () => chosen.click()),
    chosen,
  );
  progress.append(summary, about, folder);
  const how = element("p", { textContent: HOW });
  place.replaceChildren(how, folded, coloured(text), bar, instead, output, progress);
  instead.hidden = true;
  window.addEventListener("storage", refresh); // another page has stored something
  refresh();

  function whole() {
    return rest.value + text.value;
  }

  // Show what is stored.
  function refresh() {
    const files = stored();
    const own_text = files[file]?.replaceAll("\r\n", "\n") ?? initial;
    if (whole() !== own_text) {
      // The whole text is shown if it has no such line.
      const at = Math.max(0, `\n${own_text}`.indexOf(`\n${beginning}`));
      rest.value = own_text.slice(0, at);
      text.value = own_text.slice(at);
    }
    const lines = rest.value.split("\n").length - 1;
    folded.hidden = !lines && !folded.open;
    range.textContent = say("The rest of your file: lines 1 to {last}", { last: lines });
    paint(rest, 1);
    paint(text, lines + 1);
    const solved = solvedLessons(files);
    train.hidden = !solved.length;
    solution.hidden = !solved.includes(number);
    reset.hidden = !(file in files);
    own.hidden = file in files || !solved.includes(continues);
    summary.textContent = say(
      "Your progress in this browser: {solved} of {lessons} lessons solved",
      { solved: solved.length, lessons },
    );
    about.textContent = Object.keys(unstored).length ? UNSTORED : STORED;
  }

  async function check() {
    store({ [file]: whole() });
    output.replaceChildren();
    await act("check");
  }

  async function receive() {
    const files = {};
    for (const each of chosen.files) files[each.name] = await base64(each);
    chosen.value = "";
    if (!Object.keys(stored()).length || confirm(say("Replace your files and your progress?"))) {
      await act("import", files);
    }
  }

  // Let Python carry out a command, and store and show what it has changed.
  async function act(action, chosen = {}) {
    if (running) return;
    const files = stored();
    busy(asked, true);
    state.textContent = say("Starting Python …");
    const request = JSON.stringify({ action, number: Number(number), language, files, chosen });
    const message = { request, module: "browser", hypothesis: true };
    const { ended, note = "", stopped = false } = await inWorker(message, output, state);
    busy(asked, false);
    state.textContent = note;
    instead.hidden = !!ended || stopped;
    if (!ended) {
      if (action === "hint" && !stopped) await hintWithoutPython();
      return;
    }
    const answer = JSON.parse(ended);
    if (answer.error) {
      state.textContent = answer.text;
      return;
    }
    if (action === "import") clear();
    // The text may have been edited in the meantime.
    const changed = Object.entries(answer.files).filter(([each, its]) => files[each] !== its);
    store(action === "import" ? answer.files : Object.fromEntries(changed));
    if (action === "reset") {
      state.textContent = say("Your text before is {file}.bak in the exported folder.", { file });
    }
    if (action === "run") output.replaceChildren();
    for (const shown of [answer.text, ...answer.drawings].filter(Boolean)) {
      const part = element("div", { className: `of-${action}` });
      output.append(part);
      show(part, shown);
    }
    if (answer.archive) {
      const href = `data:application/zip;base64,${answer.archive}`;
      element("a", { href, download: `${FOLDER}.zip` }).click();
    }
    refresh();
  }

  // Show the next hint, from a file of the site: Python, or hypothesis, could not be loaded.
  async function hintWithoutPython() {
    const answer = await fetch(new URL(`hints.${language}.json`, here)).catch(() => undefined);
    if (!answer?.ok) return;
    const hints = (await answer.json())[number];
    const part = element("div", { className: "of-hint" });
    output.append(part);
    show(part, hints[Math.min(hinted++, hints.length - 1)]);
  }
}

// An editor with numbers of lines, above the same text in colours.
function coloured(text) {
  const place = element("div", { className: "coloured" });
  const parts = [element("pre", { className: "numbers" }), element("pre", {})];
  for (const part of parts) part.setAttribute("aria-hidden", "true");
  place.append(...parts, text);
  return place;
}

// Show the numbers and colours of a text that begins with line `first` of its file.
function paint(text, first) {
  fit(text);
  const [numbers, colours] = text.parentElement.children;
  numbers.textContent = text.value.split("\n").map((_, i) => first + i).join("\n");
  colours.replaceChildren();
  let at = 0;
  for (const match of text.value.matchAll(PARTS)) {
    const className = ["comment", "string", "keyword", "number"][match.slice(1).findIndex(Boolean)];
    colours.append(
      text.value.slice(at, match.index),
      element("span", { className, textContent: match[0] }),
    );
    at = match.index + match[0].length;
  }
  colours.append(text.value.slice(at), "\n");
}

function stored() {
  const files = {};
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(PREFIX)) files[key.slice(PREFIX.length)] = localStorage.getItem(key);
    }
  } catch {} // the reader's settings
  return { ...files, ...unstored };
}

function store(files) {
  for (const [name, text] of Object.entries(files)) {
    try {
      localStorage.setItem(PREFIX + name, text);
      delete unstored[name];
    } catch {
      unstored[name] = text;
    }
  }
}

function clear() {
  for (const name of Object.keys(stored())) {
    delete unstored[name];
    try {
      localStorage.removeItem(PREFIX + name);
    } catch {}
  }
}

// The numbers of the solved lessons, as texts.
function solvedLessons(files) {
  try {
    const lessons = JSON.parse(files["progress.json"]).lessons;
    return Object.keys(lessons).filter((number) => lessons[number].passed);
  } catch {
    return [];
  }
}

function base64(file) {
  return new Promise((finish) => {
    const reader = new FileReader();
    reader.onload = () => finish(reader.result.split(",")[1] ?? "");
    reader.readAsDataURL(file);
  });
}
