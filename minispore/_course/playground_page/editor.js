// A text with Python code: its height, and the keys of an editor.

function fit(text) {
  text.rows = text.value.split("\n").length;
}

function pressed(event, text, run) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run.click();
  } else if (event.key === "Escape") {
    run.focus();
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
