// The tokens of an axis, fetched in runs as they come on screen.

const RUN = 1024;

export class Labels {
  /** `ask(span)` gives a promise of labels; `onChange()` is told when some have come. */
  constructor(size, ask, onChange) {
    Object.assign(this, { size, ask, onChange });
    this.runs = new Map();
  }

  /** The label of a place; empty until it has come. */
  at(place) {
    const run = Math.floor(place / RUN);
    if (!this.runs.has(run)) this.fetchRun(run);
    return this.runs.get(run)?.[place - run * RUN] ?? "";
  }

  /** Wait for the labels of a span. */
  async load(first, last) {
    const waits = [];
    for (let run = Math.floor(first / RUN); run * RUN < last; run += 1)
      if (!Array.isArray(this.runs.get(run))) waits.push(this.runs.get(run) ?? this.fetchRun(run));
    await Promise.all(waits);
  }

  fetchRun(run) {
    const span = [run * RUN, Math.min(this.size, (run + 1) * RUN)];
    const coming = this.ask(span).then(
      (labels) => {
        this.runs.set(run, labels);
        this.onChange();
      },
      () => this.runs.delete(run),
    );
    this.runs.set(run, coming);
    return coming;
  }
}
