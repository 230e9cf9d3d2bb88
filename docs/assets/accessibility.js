// Names for screen readers of what the theme leaves without one, in the language of the page.
{
  const search = document.querySelector("[data-md-component=search]");
  const field = document.querySelector("[data-md-component=search-query]");
  if (search && field) search.setAttribute("aria-label", field.placeholder);

  // The labels of the navigation's sections are hidden where the sections are shown.
  for (const section of document.querySelectorAll("nav[aria-labelledby]")) {
    const label = document.getElementById(section.getAttribute("aria-labelledby"));
    if (label === null) continue;
    section.removeAttribute("aria-labelledby");
    section.setAttribute("aria-label", label.textContent.trim());
  }

  // The way from the first page has the name of the navigation.
  for (const path of document.querySelectorAll(".md-path")) {
    path.setAttribute("aria-label", path.textContent.trim().replace(/\s+/g, " "));
  }

  // The buttons of a block of code are added when it is first seen.
  let count = 0;
  new MutationObserver(() => {
    for (const buttons of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
      const { title } = buttons.querySelector("button");
      buttons.setAttribute("aria-label", `${title} ${++count}`);
    }
  }).observe(document.body, { childList: true, subtree: true });
}
