// What the browser keeps for this server's address; where it keeps nothing, this page remembers while it is open.

const inMemory = new Map();

/** Keep a text for every tab, or with "sessionStorage" for this one. */
export function remember(key, text, store = "localStorage") {
  inMemory.set(key, text);
  try {
    window[store].removeItem(key);
    window[store].setItem(key, text);
  } catch {
    /* it is switched off or full */
  }
}

export function recall(key, store = "localStorage") {
  try {
    return window[store].getItem(key) ?? inMemory.get(key) ?? null;
  } catch {
    return inMemory.get(key) ?? null;
  }
}
