"""Create mutmut's mutants, and determine which tests reach which function. See `nox -s mutants`.

`mutmut run` does so in a process whose output is lost, and in which a test fails that looks at the
state of the process.
"""

import os
import sys
from importlib import import_module
from pathlib import Path

main = import_module("mutmut.__main__")
set_mutant_under_test = import_module("mutmut.mutation.trampoline").set_mutant_under_test
Path("mutants").mkdir(exist_ok=True)
set_mutant_under_test("mutant_generation")
main.copy_src_dir()
main.copy_also_copy_files()
main.setup_source_paths()
main.create_mutants(os.cpu_count() or 1)
set_mutant_under_test("stats")
os.environ["MUTMUT_DEPENDENCY_DEPTH"] = str(main.config().dependency_tracking_depth)
failed = import_module("mutmut.runners.harness").PytestRunner().run_stats(tests=[])
import_module("mutmut.stats").save_stats()
sys.exit(failed)
