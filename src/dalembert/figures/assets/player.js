// SPDX-License-Identifier: BSD-3-Clause
// A player: a button, a slider over time or over the numbers of frames, and a text beside it.

class Player {
  // `draw(value)` draws the motion at a value of the slider and returns the text beside it.
  // `rate` is how far the slider moves in one second of playing, `hold` how far it would move at the end before the
  // motion begins again.
  constructor(draw, {from, to, step, rate, hold = 0}) {
    [this.button, this.slider, this.clock] = ["play", "time", "clock"].map(id => document.getElementById(id));
    Object.assign(this, {draw, from, to, rate, hold, playing: false, value: from});
    Object.assign(this.slider, {min: from, max: to, step, value: from});
    this.button.onclick = () => this.playing ? this.stop() : this.start();
    this.slider.oninput = () => { this.stop(); this.seek(Number(this.slider.value)); };
  }

  start() {
    this.playing = true;
    this.button.textContent = "Pause";
    this.before = null;
    requestAnimationFrame(now => this.tick(now));
  }

  stop() {
    this.playing = false;
    this.button.textContent = "Play";
    this.show();
  }

  // Moves on by the time since the last frame; after the end it begins again.
  tick(now) {
    if (!this.playing) return;
    const passed = this.before === null ? 0 : (now - this.before) / 1000;
    this.before = now;
    const next = this.value + this.rate * passed;
    this.seek(next >= this.to + this.hold ? this.from : next);
    requestAnimationFrame(later => this.tick(later));
  }

  seek(value) {
    this.value = value;
    this.slider.value = value;
    this.show();
  }

  show() {
    this.clock.textContent = this.draw(this.value);
  }
}
