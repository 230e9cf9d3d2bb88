// The training on the front page: it runs event by event, can be killed at any time, and resumes from
// the last checkpoint. What happens was recorded in real trainings, see docs/scripts/killing.py.

{
  const place = document.querySelector(".kill");
  const { events, losses, every, digest, words } = JSON.parse(place.querySelector("script").textContent);
  const [bar, rows, shown, said] = [".run", "tbody", ".event", ".said"].map((each) => place.querySelector(each));
  // A reader who wants no motion moves it event by event.
  const slow = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const say = (text, values = {}) => words[text].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const made = (name, properties) => Object.assign(document.createElement(name), properties);
  const [go, kill] = ["Start", "Kill"].map((text) =>
    made("button", { type: "button", textContent: say(text) }));
  let process; // the one that runs: its events, how many of them have happened, its cells
  let file = 0; // the step after which there is a checkpoint
  let timer;

  function begin(text) {
    const number = rows.children.length + 1;
    const row = made("tr", {});
    row.append(made("th", { scope: "row", textContent: say("process {number}", { number }) }));
    const cells = Object.keys(losses).map(() => row.appendChild(made("td", {})));
    rows.append(row);
    process = { events: events[file], at: 0, cells };
    if (slow) go.textContent = say("Next event");
    else timer = setInterval(next, 450);
    said.textContent = text;
    state();
  }

  function next() {
    const [name, step] = process.events[process.at++];
    shown.replaceChildren(made("code", { textContent: name }), step ? ` ${say("step")} ${step}` : "");
    const cell = process.cells[step - 1];
    if (name === "on_train_step_begin") cell.className = "now";
    if (name === "on_train_step_end") {
      Object.assign(cell, { textContent: losses[step], className: "done" });
      if (step % every === 0) {
        file = step;
        for (const each of process.cells.slice(0, step)) if (each.textContent) each.className = "saved";
      }
    }
    if (process.at === process.events.length) {
      file = 0;
      stop("Again", say(END, { digest }));
    }
  }

  function stop(label, text) {
    clearInterval(timer);
    process = undefined;
    go.textContent = say(label);
    said.textContent = text;
    state();
  }

  function state() {
    kill.setAttribute("aria-disabled", !process);
    go.setAttribute("aria-disabled", !!process && !slow);
  }

  const END = Object.keys(words).at(-1);
  let killed = false;
  go.onclick = () => {
    if (process) return slow && next();
    if (killed) {
      const from = file ? "A new process goes on after step {step}." : "There is no checkpoint yet: a new process begins at step 1.";
      begin(say(from, { step: file }));
    } else {
      rows.replaceChildren();
      begin(say("The process is running. Kill it when you like."));
    }
    killed = false;
  };
  kill.onclick = () => {
    if (!process) return;
    for (const each of process.cells.filter((cell) => /done|now/.test(cell.className))) {
      Object.assign(each, { className: "lost", textContent: each.textContent || "✕" });
    }
    killed = true;
    const left = file ? "The checkpoint after step {step} is left." : "There is no checkpoint yet: a new process begins at step 1.";
    stop("Resume", `${say("Killed: the process and all that it had in memory are gone.")} ${say(left, { step: file })}`);
    go.focus();
  };
  bar.append(go, kill);
  bar.hidden = false;
}
