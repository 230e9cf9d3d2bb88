// A search box above each table in an element of the class `filtered`: it shows the rows that have
// all words of the text.
for (const box of document.querySelectorAll(".filtered")) {
  const rows = [...box.querySelectorAll("tbody tr")];
  const input = Object.assign(document.createElement("input"), {
    type: "search",
    placeholder: "Search the rows: EarlyStopping, resume, seed …",
  });
  input.setAttribute("aria-label", "Search the rows");
  const count = document.createElement("output");
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  input.addEventListener("input", show);
  const bar = document.createElement("p");
  bar.append(input, count);
  box.before(bar);
  bar.className = "filter";
  show();
}
