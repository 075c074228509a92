"""A search by ShinkaEvolve: ADDRESS-OF-MODEL PROBLEM."""

import json
import sqlite3
import sys
from pathlib import Path

from kernelgauge_client.adapters import shinka
from shinka.core import EvolutionConfig, ShinkaEvolveRunner
from shinka.database import DatabaseConfig
from shinka.launch import LocalJobConfig

address, problem = sys.argv[1:]
runner = ShinkaEvolveRunner(
    evo_config=EvolutionConfig(
        patch_types=["full"],
        patch_type_probs=[1.0],
        num_generations=6,
        init_program_path="first.py",
        results_dir="out",
        llm_models=[f"local/m@{address}"],
        llm_dynamic_selection=None,
        embedding_model=None,
        meta_rec_interval=None,
        use_text_feedback=True,
        max_patch_resamples=1,
        max_novelty_attempts=1,
    ),
    job_config=LocalJobConfig(eval_program_path=shinka.__file__, extra_cmd_args={"problem": problem}),
    db_config=DatabaseConfig(num_islands=1),
    max_evaluation_jobs=1,
    max_proposal_jobs=1,
)
runner.run()
(database,) = Path("out").glob("*.sqlite")
asked = "select code, correct, combined_score, text_feedback from programs order by generation"
print("RESULT" + json.dumps(sqlite3.connect(database).execute(asked).fetchall()))
