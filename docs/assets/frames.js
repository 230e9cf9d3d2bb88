// Figures with frames: buttons, a slider and the arrow keys choose the one that is shown. Nothing
// moves by itself. Without this script, and in print, one frame is shown and the controls are not.

for (const figure of document.querySelectorAll("figure.frames")) {
  const frames = [...figure.querySelectorAll(".frame")];
  const [back, on] = figure.querySelectorAll("button");
  const slider = figure.querySelector("input");
  const position = figure.querySelector("output");
  const show = (wanted, said) => {
    const at = Math.min(Math.max(wanted, 0), frames.length - 1);
    const place = `${at + 1} / ${frames.length}`;
    const caption = frames[at].querySelector("p").textContent;
    frames.forEach((frame, i) => frame.classList.toggle("shown", i === at));
    slider.value = at;
    slider.setAttribute("aria-valuetext", `${place}: ${caption}`);
    // A screen reader reads the slider's text by itself, but not what a button has changed.
    position.setAttribute("aria-live", said);
    position.replaceChildren(place, Object.assign(document.createElement("span"), { textContent: caption }));
    back.setAttribute("aria-disabled", at === 0);
    on.setAttribute("aria-disabled", at === frames.length - 1);
  };
  const move = (way) => show(slider.valueAsNumber + way, "polite");
  back.onclick = () => move(-1);
  on.onclick = () => move(1);
  slider.oninput = () => show(slider.valueAsNumber, "off");
  figure.onkeydown = (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation(); // slides move with these keys, too
    move(way);
  };
  figure.classList.add("live");
  figure.querySelector(".controls").hidden = false;
  show(0, "off");
}
