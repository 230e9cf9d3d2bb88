// The slides of a lesson, shown instead of the page if its address ends with `?slides`: for each
// heading one with its pictures and programs, which can be run as on the page.

const SHOWN = ".highlight, .formula, figure, img, iframe, .run, .output, textarea, .exercise";

if (new URLSearchParams(location.search).has("slides")) {
  document.documentElement.classList.add("slides");
  const article = document.querySelector("article");
  let slide;
  for (const part of [...article.children]) {
    if (part.matches("h1, h2, h3")) {
      slide = document.createElement("section");
      article.append(slide);
    }
    if (part.matches(`h1, h2, h3, ${SHOWN}`)) slide?.append(part);
    else part.remove();
  }
  for (const each of article.querySelectorAll("section:not(:has(> :nth-child(2)), :has(h1))")) {
    each.remove();
  }
  addEventListener("keydown", ({ key, target }) => {
    const way = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[key];
    if (!way || target.matches("textarea, input")) return;
    const slides = [...article.querySelectorAll("section")];
    const at = slides.findLastIndex((each) => each.getBoundingClientRect().top < innerHeight / 2);
    slides[at + way]?.scrollIntoView();
  });
}
