// A list of any number of rows, of which only those in view are in the page.

const ROW = 68; // pixels; history.css says the same
const PIECE = 50; // rows asked for at a time
const KEPT = 1000; // rows that stay known
const TALLEST = 408; // pixels of the list, with more rows than fit

// A listbox over any number of rows. `fetch(first, count)` gives `{total, rows}`.
function windowedList(panel, { label, fetch, draw, choose }) {
  const spacer = make("div", "agentcell-spacer");
  const list = setAttributes(make("div", "agentcell-list"), { role: "listbox", tabindex: "0", "aria-label": label });
  list.append(spacer);
  const rows = new Map();
  const nodes = new Map();
  const asked = new Map();
  let total = 0;
  let active = -1;
  let round = 0;
  let frame = 0;

  const firstShown = () => Math.floor(list.scrollTop / ROW);
  const idOf = (index) => `${panel.prefix}-${index}`;

  const ask = (piece) => {
    if (!asked.has(piece)) asked.set(piece, read(piece));
    return asked.get(piece);
  };

  const read = async (piece) => {
    const mine = round;
    try {
      const got = await fetch(piece * PIECE, PIECE);
      if (mine !== round) return;
      if (rows.size > KEPT) rows.clear();
      got.rows.forEach((row, index) => rows.set(piece * PIECE + index, row));
      setTotal(got.total);
      paint();
    } catch (error) {
      if (mine === round) panel.fail(error);
    } finally {
      if (mine === round) asked.delete(piece);
    }
  };

  const setTotal = (count) => {
    if (count === total) return;
    total = count;
    if (active >= total) active = total - 1;
    spacer.style.height = `${total * ROW}px`;
    list.style.height = `${Math.min(TALLEST, total * ROW) + 2}px`;
    list.dispatchEvent(new CustomEvent("agentcell-total", { detail: total }));
  };

  const paint = () => {
    const visible = Math.ceil(list.clientHeight / ROW) + 1;
    const first = Math.max(0, firstShown() - 3);
    const last = Math.min(total, firstShown() + visible + 3);
    for (const [index, node] of nodes) {
      if (index < first || index >= last) {
        node.remove();
        nodes.delete(index);
      }
    }
    for (let index = first; index < last; index += 1) {
      const row = rows.get(index);
      let node = nodes.get(index);
      if (!node) {
        node = setAttributes(make("div", "agentcell-row"), { role: "option", id: idOf(index) });
        nodes.set(index, node);
        spacer.append(node);
      }
      node.style.insetBlockStart = `${index * ROW}px`;
      setAttributes(node, {
        "aria-setsize": total,
        "aria-posinset": index + 1,
        "aria-selected": index === active ? "true" : "false",
      });
      if (row && node.row !== row) {
        node.row = row;
        node.replaceChildren(...draw(row));
        node.classList.toggle("agentcell-gone", Boolean(row.state));
      }
      if (!row) ask(Math.floor(index / PIECE));
    }
    setAttributes(list, { "aria-activedescendant": nodes.has(active) ? idOf(active) : null });
  };

  const soon = () => {
    if (frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      paint();
    });
  };

  const activate = async (index) => {
    if (!total) return;
    active = Math.min(total - 1, Math.max(0, index));
    const top = active * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    const bottom = top + ROW - list.clientHeight;
    if (bottom > list.scrollTop) list.scrollTop = bottom;
    paint();
    if (!rows.has(active)) await ask(Math.floor(active / PIECE));
    if (rows.has(active)) choose(rows.get(active));
  };

  list.addEventListener("scroll", soon, { passive: true });
  list.addEventListener("click", (event) => {
    const node = event.target.closest?.('[role="option"]');
    for (const [index, one] of nodes) if (one === node) activate(index);
  });
  list.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
    const to = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: total - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    activate(to);
  });
  const watcher = new ResizeObserver(soon);
  watcher.observe(list);
  panel.atEnd(() => {
    watcher.disconnect();
    cancelAnimationFrame(frame);
  });

  return {
    list,
    // Read everything anew; the row that is chosen stays so if `keep` knows it.
    async reload({ top = false } = {}) {
      round += 1;
      rows.clear();
      asked.clear();
      if (top) {
        active = -1;
        list.scrollTop = 0;
      }
      for (const node of nodes.values()) node.row = null;
      await ask(Math.floor(Math.max(0, firstShown()) / PIECE));
    },
    get total() {
      return total;
    },
  };
}
