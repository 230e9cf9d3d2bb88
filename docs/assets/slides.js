// The slides of a lesson, shown instead of the page if its address ends with `?slides`. A slide has a
// heading, the sentences with bold words, at most one program and one picture, and folded notes: the
// paragraphs. A program without such a sentence has the one before it. What does not fit goes to the next slide; a block that is still too tall scrolls.

const CODE = ".highlight:not(.printed)";
const PICTURE = ".printed, .guess, .formula, figure, svg, img, iframe, .output, .exercise";
const WITH_CODE = ".run, textarea"; // what the page puts below a program
// A bold beginning, such as "<strong>Which inputs.</strong>", stays with the next sentence.
const SENTENCES = /(?<=[.?!:])\s+(?=[^a-z])|(?<=[。？！：])(?!<)/;

/** Make a slide with a heading. */
function newSlide(article, heading) {
  const slide = document.createElement("section");
  const notes = document.createElement("details");
  notes.className = "notes";
  notes.innerHTML = "<summary></summary>";
  notes.firstChild.textContent = document.documentElement.lang.startsWith("zh") ? "讲稿" : "Notes";
  slide.append(heading, notes);
  article.append(slide);
  return slide;
}

/** Make the slide that continues a slide. */
function nextSlide(slide) {
  const heading = slide.querySelector(":scope > :is(h1, h2, h3)").cloneNode(true);
  heading.removeAttribute("id");
  const next = newSlide(slide.parentElement, heading);
  slide.after(next);
  return next;
}

const contentOf = (slide) => [...slide.children].slice(1, -1);

function put(slide, part) {
  slide.lastElementChild.before(part);
}

function putSentence(slide, sentence, className) {
  const key = document.createElement("p");
  key.className = className;
  key.innerHTML = sentence;
  put(slide, key);
}

/** Put the sentences with bold words, or all, on a slide, and the text into its notes. */
function putText(slide, text, all) {
  for (const each of text.matches("ul, ol") ? text.querySelectorAll("li") : [text]) {
    for (const sentence of each.innerHTML.split(SENTENCES)) {
      if (all || sentence.includes("<strong")) putSentence(slide, sentence, "key");
    }
  }
  if (!all) slide.lastElementChild.append(text);
  else text.remove();
}

function makeSlides(article) {
  let slide;
  let lead; // the sentence before the next program
  for (const each of article.querySelectorAll("details.guess")) each.open = true;
  for (const each of article.querySelectorAll("details.solution")) {
    each.replaceWith(...[...each.children].slice(1));
  }
  for (const part of [...article.children]) {
    if (part.matches("h1, h2, h3")) slide = newSlide(article, part);
    else if (!slide || part.matches("script")) continue;
    else if (part.querySelector(".notebook")) part.remove();
    else if (part.matches("p, ul, ol")) {
      lead = part.matches("p") ? part.innerHTML.split(SENTENCES).at(-1) : undefined;
      putText(slide, part, slide.firstChild.matches("h1, #in-short"));
    } else if (part.matches(`${WITH_CODE}, details.question`)) put(slide, part);
    else {
      const kind = [CODE, PICTURE].find((each) => part.matches(each));
      if (!kind) part.remove();
      else {
        const other = part.matches(".exercise") ? "*" : kind; // an editor needs the slide
        if (contentOf(slide).some((each) => each.matches(other))) slide = nextSlide(slide);
        const isLed = contentOf(slide).some((each) => each.matches(".key"));
        if (kind === CODE && lead && !isLed) putSentence(slide, lead, "key lead");
        lead = undefined;
        put(slide, part);
      }
    }
  }
  for (const each of article.querySelectorAll(":scope > section")) {
    if (contentOf(each).length > 0 || each.querySelector("h1")) continue;
    each.previousElementSibling?.lastElementChild?.append(...[...each.lastChild.children].slice(1));
    each.remove();
  }
}

const isTooTall = (slide) => slide.scrollHeight > slide.clientHeight;

function shrink(slide, smallest) {
  slide.style.fontSize = "";
  for (let size = 1.2; isTooTall(slide) && size >= smallest; size -= 0.1) {
    slide.style.fontSize = `${size}em`;
  }
}

/** Use a smaller font, and move what does not fit to further slides. */
function fit(slide) {
  slide.classList.add("measured");
  shrink(slide, 1);
  const moved = [];
  while (isTooTall(slide) && contentOf(slide).length > 1) {
    // What is below a program stays with it.
    let part = contentOf(slide).at(-1);
    while (part.matches(WITH_CODE) && contentOf(slide)[0] !== part) {
      moved.unshift(part);
      part = part.previousElementSibling;
      moved[0].remove();
    }
    const before = part.previousElementSibling;
    moved.unshift(part);
    part.remove();
    if (before.matches(".lead")) {
      moved.unshift(before);
      before.remove();
    }
  }
  if (contentOf(slide).length === 0) for (const each of moved.splice(0)) put(slide, each);
  shrink(slide, 0.7);
  slide.classList.remove("measured");
  if (moved.length === 0) return;
  const next = nextSlide(slide);
  for (const each of moved) put(next, each);
  fit(next);
}

if (new URLSearchParams(location.search).has("slides")) {
  document.documentElement.classList.add("slides");
  const article = document.querySelector("article");
  const slides = () => [...article.querySelectorAll(":scope > section")];
  makeSlides(article);
  slides().forEach(fit);
  addEventListener("keydown", ({ key, target }) => {
    if (target.matches("textarea, input")) return;
    const at = slides().findLastIndex((s) => s.getBoundingClientRect().top < innerHeight / 2);
    if (key === "t") slides()[at].lastElementChild.open ^= true;
    const way = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[key];
    if (way) slides()[at + way]?.scrollIntoView();
  });
}
