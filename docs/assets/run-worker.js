// The Python of a page, in a worker, so that the page can end it. Its first message says where to
// find what it needs; after that it runs one program, or request of the exercise or of the
// playground, after the other.

const MOST = 100_000; // characters that a program may print on the page
const AT_ONCE = 100; // so often what is printed is sent at once,
const PAUSE = 100; // and then after so many milliseconds, lest a loop floods the page

const PACKAGES = "/packages";
const QUIET = { messageCallback() {}, errorCallback() {} };
const RUNNER = `
import linecache, os, signal, sys, tempfile, traceback
from page import set_timer

# In a browser Python has no timer.
signal.ITIMER_VIRTUAL = signal.SIGVTALRM
signal.setitimer = lambda kind, seconds: set_timer(seconds, kind)
# Its file system begins with a mask that leaves new files no rights.
os.umask(0o022)
os.chdir(tempfile.mkdtemp())
sys.path.append("${PACKAGES}")
sys.stdout.reconfigure(line_buffering=True)
namespace = {"__name__": "__main__"}

def run(code, number):
    """Run a program; return None, or the name of the module that it lacks, or ''."""
    file = f"<program {number}>"
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    try:
        exec(compile(code, file, "exec"), namespace)
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next
        traceback.print_exception(error, file=sys.stdout)
        return getattr(error, "name", "") or ""
    finally:
        sys.stdout.flush()

run
`;

const lacking = {}; // why a module could not be loaded, by its name
let python; // the promise of Pyodide, and of what runs a program there
let hypothesis; // the promise that hypothesis was loaded, or could not be

onmessage = async ({ data }) => {
  if (data.base) {
    python = load(data);
    return;
  }
  try {
    const { pyodide, run, wheel } = await python;
    if (data.hypothesis) {
      await (hypothesis ??= loadHypothesis(pyodide, wheel));
    }
    postMessage(data.request ? answered(pyodide, data) : await ran(pyodide, run, data));
  } catch (error) {
    const end = failure("Python ended: {error}. The next run starts it again.", { error: error.message });
    postMessage({ lost: (error.texts ? error : end).texts });
  }
};

async function ran(pyodide, run, { code, number }) {
  await pyodide.loadPackagesFromImports(code, QUIET).catch(() => {});
  begin();
  const lack = run(code, number);
  flush();
  decoder = undefined;
  const note = lack === undefined ? "" : (lacking[lack] ?? "It ended with an error.");
  return { ended: lack === undefined, note };
}

// What a module of minispore/_course, browser.py or playground.py, answers to a request.
function answered(pyodide, { request, module, hypothesis }) {
  const note = lacking.numpy ?? (hypothesis && lacking.hypothesis);
  if (note) return { ended: false, note };
  postMessage({ state: "Working …" });
  const report = (state) => postMessage({ state });
  return { ended: pyodide.pyimport(`minispore._course.${module}`).answer(request, report) };
}

async function load({ base, minispore, hypothesis }) {
  postMessage({ state: "Loading Python …" });
  const pyodide = await pyodideFrom(base);
  postMessage({ state: "Loading numpy …" });
  await pyodide.loadPackage("numpy", QUIET).catch(() => {});
  if (!pyodide.loadedPackages.numpy) {
    lacking.numpy = ["numpy could not be loaded from {base}, where it belongs beside Pyodide.", { base }];
  }
  const answer = await fetch(minispore).catch(() => ({ ok: false }));
  if (!answer.ok) throw failure("minispore could not be loaded from {address}.", { address: minispore });
  pyodide.unpackArchive(await answer.arrayBuffer(), "zip", { extractDir: PACKAGES });
  postMessage({ state: "Running …" });
  pyodide.setStdout({ write });
  pyodide.setStderr({ write });
  pyodide.registerJsModule("page", timer(pyodide));
  const wheel = hypothesis.endsWith(".whl") ? new URL(hypothesis, base).href : hypothesis;
  return { pyodide, run: pyodide.runPython(RUNNER), wheel };
}

async function loadHypothesis(pyodide, wheel) {
  postMessage({ state: "Loading hypothesis …" });
  try {
    await pyodide.loadPackage("micropip", QUIET);
    await pyodide.pyimport("micropip").install(wheel);
  } catch {
    lacking.hypothesis = "hypothesis could not be loaded; without a network it needs a wheel.";
  }
  postMessage({ state: "Running …" });
}

// A timer that ends endless loops: Python looks every few steps whether a signal has arrived in
// what is usually memory shared with the page, and is here a clock.
function timer(pyodide) {
  let end, signal;
  const clock = {
    get 0() {
      if (performance.now() < end) return 0;
      end = Infinity; // one signal is enough
      return signal;
    },
    set 0(_) {},
  };
  const set_timer = (seconds, kind) => {
    end = performance.now() + 1000 * seconds;
    signal = kind;
    pyodide.setInterruptBuffer(seconds ? clock : undefined);
  };
  return { set_timer };
}

async function pyodideFrom(base) {
  try {
    const { loadPyodide } = await import(`${base}pyodide.mjs`);
    return await loadPyodide({ indexURL: base });
  } catch (error) {
    throw failure(
      "Python could not be loaded from {base}: there is no network, or no Pyodide ({error}).",
      { base, error: error.message },
    );
  }
}

// An error with a text and its values, which the page says in its language.
function failure(...texts) {
  return Object.assign(new Error(texts[0]), { texts });
}

let decoder; // none while no program runs
let printed, count, sendings, sent;

function begin() {
  decoder = new TextDecoder();
  printed = "";
  count = sendings = sent = 0;
}

// Take what Python prints.
function write(bytes) {
  if (!decoder) return bytes.length;
  const text = decoder.decode(bytes, { stream: true });
  if (count < MOST) printed += text.slice(0, MOST - count);
  if (count < MOST && count + text.length >= MOST) printed += "\n… more is not shown here.";
  count += text.length;
  if (sendings < AT_ONCE || Date.now() - sent > PAUSE) flush();
  return bytes.length;
}

function flush() {
  if (printed) postMessage({ printed });
  printed = "";
  sendings += 1;
  sent = Date.now();
}
