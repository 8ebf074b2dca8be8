"use strict";
// Time: where the replay is, how fast it goes, and the marks. Knows neither the picture nor the keys.

class Player {
  constructor(content, changed) {
    this.t = content.t;
    this.speeds = content.speeds;
    this.changed = changed;
    this.time = this.t[0];
    this.playing = false;
    this.looping = content.playing;
    this.speed = content.speed;
    this.marks = new Set();
  }

  get first() { return this.t[0]; }
  get last() { return this.t[this.t.length - 1]; }

  // The picture at or before the present time.
  get picture() {
    let [low, high] = [0, this.t.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.t[middle] <= this.time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // The share of the way to the next picture.
  get between() {
    const k = this.picture;
    return k + 1 < this.t.length ? (this.time - this.t[k]) / (this.t[k + 1] - this.t[k]) : 0;
  }

  get place() { return this.time; }
  placeOf(mark) { return this.t[mark]; }
  reset() { this.pause(this.first); }

  // Let ``seconds`` of wall time go by.
  advance(seconds) {
    if (!this.playing) return;
    this.time += seconds * this.speed;
    if (this.time >= this.last) {
      const length = this.last - this.first;
      if (this.looping && length > 0) this.time = this.first + ((this.time - this.first) % length);
      else this.pause(this.last);
    }
    this.changed();
  }

  play() {
    if (this.time >= this.last) this.time = this.first;
    this.playing = true;
    this.changed();
  }

  pause(time = this.time) {
    this.playing = false;
    this.time = Math.min(Math.max(time, this.first), this.last);
    this.changed();
  }

  step(count) {
    const k = this.picture, off = count < 0 && this.time > this.t[k] ? 1 : 0;
    this.pause(this.t[Math.min(Math.max(k + count + off, 0), this.t.length - 1)]);
  }

  setSpeed(speed) {
    this.speed = speed;
    this.changed();
  }

  faster() { this.setSpeed(this.speeds.find((speed) => speed > this.speed * 1.001) ?? this.speed); }
  slower() { this.setSpeed(this.speeds.findLast?.((speed) => speed < this.speed * 0.999) ?? this.speeds[0]); }

  mark() {
    const k = this.picture;
    if (!this.marks.delete(k)) this.marks.add(k);
    this.changed();
  }

  // Go to the next mark on one side; false when there is none.
  jump(side) {
    const k = this.picture, beyond = [...this.marks].filter((mark) => side * (mark - k) > 0);
    if (beyond.length) this.pause(this.t[side > 0 ? Math.min(...beyond) : Math.max(...beyond)]);
    return beyond.length > 0;
  }
}
