// The theme asks for the search's index on every page. The request waits until the reader uses the
// search, or comes from a result of it, and is for the index in the language of the page.
{
  const { open, send } = XMLHttpRequest.prototype;
  const isIndex = /search\/search_index\.json$/;
  const isSearch = "[data-md-component=search-query]";
  const waiting = new WeakSet();
  const used = new Promise((resolve) => {
    const parameters = new URLSearchParams(location.search);
    if (parameters.has("q") || parameters.has("h")) resolve();
    addEventListener("focusin", ({ target }) => target.matches(isSearch) && resolve());
  });

  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    if (isIndex.test(url)) {
      waiting.add(this);
      if (document.documentElement.lang === "zh") url = `${url}`.replace(/json$/, "zh.json");
    }
    return open.call(this, method, url, ...rest);
  };

  XMLHttpRequest.prototype.send = function (...body) {
    if (waiting.has(this)) used.then(() => send.apply(this, body));
    else send.apply(this, body);
  };
}
