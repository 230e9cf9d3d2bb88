// The site's search runs in a worker. Browsers start none for a page that is a file, so there the
// script runs in an invisible frame, which has the worker's names `postMessage`, `importScripts` and
// the event `message`.

if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    #frame = Object.assign(document.createElement("iframe"), { hidden: true });
    #waiting = [];

    constructor(url) {
      super();
      document.documentElement.append(this.#frame);
      const inner = this.#frame.contentDocument;
      // Otherwise Firefox replaces the empty document later.
      inner.open();
      inner.close();
      const scope = this.#frame.contentWindow;
      scope.postMessage = (data) => this.#tell(this, data);
      // Each script waits for the one before it.
      scope.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => load(inner, each)), Promise.resolve());
      load(inner, url).then(() => {
        for (const data of this.#waiting) this.#tell(scope, data);
        this.#waiting = undefined;
      });
    }

    postMessage(data) {
      if (this.#waiting) this.#waiting.push(data);
      else this.#tell(this.#frame.contentWindow, data);
    }

    set onmessage(listener) {
      this.addEventListener("message", listener);
    }

    terminate() {
      this.#frame.remove();
    }

    // As between threads, the listener is called later.
    #tell(target, data) {
      setTimeout(() => target.dispatchEvent(new MessageEvent("message", { data })));
    }
  }

  function load(inner, url) {
    return new Promise((resolve, reject) => {
      const script = inner.createElement("script");
      Object.assign(script, { src: url, onload: resolve, onerror: reject });
      inner.head.append(script);
    });
  }

  // The search looks for the first name, to find its scripts.
  window.IFrameWorker = window.Worker = IFrameWorker;
}
