// Wheel, pointers and keys on a big map.

const CLICK = 4; // pixels that a pointer may move and still click

export class Gestures {
  constructor(map) {
    this.map = map;
    this.pointers = new Map();
    const { canvas, element } = map;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.pointers.size || map.setCursor(null));
    canvas.addEventListener("dblclick", (event) => map.zoom(0.5, this.shareOf(event)));
    element.addEventListener("keydown", (event) => this.key(event));
  }

  wheel(event) {
    if (!this.isInside(event)) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 24 : 1;
    this.map.zoom(Math.exp(Math.max(-240, Math.min(240, event.deltaY * lines)) * 0.0022), this.shareOf(event));
    this.hover(event);
  }

  down(event) {
    if (event.button) return;
    if (!this.isInside(event)) return;
    this.map.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (this.pointers.size === 1) this.moved = 0;
    this.map.element.focus({ preventScroll: true });
  }

  move(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      this.hover(event);
      return;
    }
    const now = [event.offsetX, event.offsetY];
    if (this.pointers.size === 2) this.pinch(event.pointerId, last, now);
    else this.drag(last, now);
    this.pointers.set(event.pointerId, now);
  }

  drag([fromX, fromY], [x, y]) {
    const { part, frame } = this.map;
    this.moved += Math.hypot(x - fromX, y - fromY);
    if (this.moved <= CLICK) return;
    const top = part.top - ((y - fromY) / frame.height) * part.height;
    const left = part.left - ((x - fromX) / frame.width) * part.width;
    this.map.moveTo({ ...part, top, left });
  }

  pinch(id, last, now) {
    const other = [...this.pointers].find(([key]) => key !== id)[1];
    const apart = ([x, y]) => Math.max(10, Math.hypot(x - other[0], y - other[1]));
    this.moved += CLICK + 1;
    const { frame } = this.map;
    const middle = [(now[1] + other[1]) / 2 - frame.y, (now[0] + other[0]) / 2 - frame.x];
    this.map.zoom(apart(last) / apart(now), [middle[0] / frame.height, middle[1] / frame.width]);
  }

  up(event) {
    if (!this.pointers.delete(event.pointerId) || this.pointers.size) return;
    this.hover(event);
    if (this.moved > CLICK) return;
    this.map.pinCursor().catch((error) => this.map.onError(error));
  }

  hover(event) {
    this.map.setCursor(this.map.cellAt(event.offsetX, event.offsetY));
  }

  isInside(event) {
    return this.shareOf(event).every((place) => place >= 0 && place <= 1);
  }

  shareOf({ offsetX, offsetY }) {
    const { x, y, width, height } = this.map.frame;
    return [(offsetY - y) / height, (offsetX - x) / width];
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { map } = this;
    const [down, across] = map.level();
    const far = event.shiftKey ? [map.part.height / down, map.part.width / across].map(Math.floor) : [1, 1];
    const done = {
      ArrowUp: () => map.step(-far[0], 0),
      ArrowDown: () => map.step(far[0], 0),
      ArrowLeft: () => map.step(0, -far[1]),
      ArrowRight: () => map.step(0, far[1]),
      "+": () => map.zoom(0.5),
      "=": () => map.zoom(0.5),
      "-": () => map.zoom(2),
      Home: () => map.whole(),
      0: () => map.whole(),
      Enter: () => map.pinCursor().catch((error) => map.onError(error)),
      Escape: () => map.setPin(null),
    }[event.key];
    if (!done) return;
    event.preventDefault();
    done();
  }
}
