"""Search for a kernel with OpenEvolve: python run.py [ITERATIONS [CONFIG]]."""

import sys
from pathlib import Path

from kernelgauge_client.adapters.openevolve import verdicts_only
from openevolve import run_evolution
from openevolve.config import load_config


def main(iterations: int | None, config_file: Path) -> None:
    """Iterations: None for those of the configuration. The best program is `out/best/best_program.py`."""
    here = Path(__file__).parent
    config = load_config(str(config_file))
    config.prompt.system_message = Path("prompt.md").read_text()  # kernelgauge prompt 1/40 > prompt.md
    found = run_evolution(
        str(here / "first.py"),
        str(here / "evaluator.py"),
        config,
        iterations=iterations,
        output_dir="out",
        cleanup=False,
        population_strategy=verdicts_only(),
    )
    print(f"score {found.best_score:.3g}", {name: found.metrics[name] for name in ("correct", "speedup_low")})
    print(found.best_code)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else None,
        Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("config.yaml"),
    )
