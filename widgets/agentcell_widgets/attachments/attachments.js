// The tray of attachments. Python owns everything shown; see __init__.py beside it.

const ACCEPT = "image/*,application/pdf,.heic,.heif,.avif,.tif,.tiff";
const DRAGGED = "application/x-agentcell-attachment";

function attachmentCard(panel, tray, card) {
  const { t } = panel;
  let page = 1;
  let picture = null;
  let shownKey = "";

  const look = button({ label: t("Enlarge {tag}", card), kind: "agentcell-look", press: () => tray.enlarge(card, page) });
  const flips = make("div", "agentcell-flips");
  const previous = button({
    drawing: "previous",
    label: t("Previous page of {tag}", card),
    kind: "agentcell-plain",
    press: () => flip(-1),
  });
  const next = button({
    drawing: "next",
    label: t("Next page of {tag}", card),
    kind: "agentcell-plain",
    press: () => flip(1),
  });
  const place = setAttributes(make("span", "agentcell-page"), { "aria-live": "polite" });
  flips.append(previous, place, next);
  const side = make("div", "agentcell-side", look, flips);

  const tag = make("bdi", "agentcell-tag", card.tag);
  const state = make("span", "agentcell-state");
  const label = setAttributes(make("input", "agentcell-label"), { type: "text", maxlength: 80 });
  const facts = make("div", "agentcell-facts");
  const estimate = make("div", "agentcell-estimate");
  const going = make("div", "agentcell-going");
  const notes = make("div", "agentcell-notes");
  const words = make("div", "agentcell-words", make("div", "agentcell-head", tag, state), label, facts, estimate, going, notes);

  const earlier = button({
    drawing: "up",
    label: t("Move {tag} earlier", card),
    kind: "agentcell-plain",
    press: () => tray.move(card.key, -1),
  });
  const later = button({
    drawing: "down",
    label: t("Move {tag} later", card),
    kind: "agentcell-plain",
    press: () => tray.move(card.key, 1),
  });
  const remove = button({
    drawing: "close",
    label: t("Remove {tag}", card),
    kind: "agentcell-plain",
    press: async () => {
      setOff(remove, true);
      const tag = card.key;
      const reply = await panel.attempt("remove", { tag });
      if (reply) panel.say(reply.notice, { takeBack: () => tray.bringBack(tag) });
      else setOff(remove, false);
    },
  });
  const actions = make("div", "agentcell-actions", remove, earlier, later);
  const node = setAttributes(make("li", "agentcell-card", side, words, actions), { draggable: "true" });

  const saveLabel = async () => {
    const wanted = label.value.trim();
    if (wanted === card.label) return;
    const reply = await panel.attempt("label", { tag: card.key, label: wanted });
    if (reply) tray.focusLater(reply.tag);
    else label.value = card.label;
  };
  label.addEventListener("change", saveLabel);
  label.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter") label.blur();
    if (event.key === "Escape") label.value = card.label;
  });
  label.addEventListener("focus", () => node.removeAttribute("draggable")); // a drag selects its text
  label.addEventListener("blur", () => node.setAttribute("draggable", "true"));

  node.addEventListener("dragstart", (event) => {
    event.stopPropagation();
    event.dataTransfer.setData(DRAGGED, card.key);
    event.dataTransfer.effectAllowed = "move";
    tray.dragged = card.key;
  });
  node.addEventListener("dragend", () => {
    tray.dragged = null;
  });
  for (const kind of ["dragenter", "dragover"]) {
    node.addEventListener(kind, (event) => {
      if (tray.dragged === null) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }
  node.addEventListener("drop", (event) => {
    if (tray.dragged === null) return;
    event.preventDefault();
    event.stopPropagation();
    tray.moveTo(tray.dragged, card.key);
  });

  const showPage = () => {
    place.textContent = `${page} / ${card.pages}`;
    place.setAttribute("aria-label", t("page {page} of {pages}", { page, pages: card.pages }));
    setOff(previous, page <= 1);
    setOff(next, page >= card.pages);
  };

  const showPicture = async () => {
    const wanted = `${card.key} ${page}`;
    if (wanted === shownKey) return;
    shownKey = wanted;
    if (!card.has_picture) {
      look.replaceChildren(make("span", "agentcell-no-picture", t("no preview")));
      setOff(look, true);
      return;
    }
    try {
      const got = await panel.ask("picture", { tag: card.key, page });
      if (shownKey !== wanted || !panel.isOpen) return;
      if (picture) panel.forgetPicture(picture);
      picture = got.problem ? null : panel.picture(got.buffers[0], got.type, got.alt);
      look.replaceChildren(picture ?? make("span", "agentcell-no-picture", t("no preview")));
      look.title = got.problem ?? "";
      setOff(look, !picture);
    } catch {
      shownKey = ""; // it was removed meanwhile
    }
  };

  function flip(step) {
    page = Math.min(card.pages, Math.max(1, page + step));
    showPage();
    showPicture();
  }

  return {
    node,
    label,
    remove,
    earlier,
    later,
    update(newer, index, count) {
      card = newer;
      state.textContent = card.waits ? t("next") : t("sent");
      state.classList.toggle("agentcell-waits", card.waits);
      if (panel.root.getRootNode().activeElement !== label) label.value = card.label;
      label.readOnly = !card.waits;
      setAttributes(label, {
        "aria-label": t("Label of {tag}", card),
        title: card.waits ? null : t("It went out already: its name stays."),
      });
      facts.textContent = card.facts;
      estimate.textContent = card.estimate ?? "";
      going.textContent = card.refused ?? card.going ?? "";
      going.classList.toggle("agentcell-refused", Boolean(card.refused));
      notes.replaceChildren(...(card.notes ?? []).map((note) => make("div", "", note)));
      flips.hidden = card.pages < 2;
      setOff(earlier, index === 0);
      setOff(later, index === count - 1);
      showPage();
      showPicture();
    },
    drop() {
      if (picture) panel.forgetPicture(picture);
      node.remove();
    },
  };
}

function enlargeAttachment(panel, card, first) {
  const { t } = panel;
  let page = first;
  let scale = 1;
  let picture = null;
  const area = setAttributes(make("div", "agentcell-look-area"), { tabindex: "0", role: "group", "aria-label": card.tag });
  const place = setAttributes(make("span", "agentcell-page"), { "aria-live": "polite" });
  const previous = button({ drawing: "previous", label: t("Previous page of {tag}", card), kind: "agentcell-plain", press: () => turn(-1) });
  const next = button({ drawing: "next", label: t("Next page of {tag}", card), kind: "agentcell-plain", press: () => turn(1) });
  const pages = make("span", "agentcell-flips", previous, place, next);
  pages.hidden = card.pages < 2;
  const smaller = button({ text: "−", label: t("Smaller"), kind: "agentcell-plain", press: () => zoom(1 / 1.5) });
  const larger = button({ text: "+", label: t("Larger"), kind: "agentcell-plain", press: () => zoom(1.5) });
  const bar = make("div", "agentcell-look-bar", pages, smaller, larger);

  const size = () => {
    if (!picture) return;
    picture.style.width = scale === 1 ? "" : `${Math.round(picture.naturalWidth * scale)}px`;
    picture.style.maxWidth = scale === 1 ? "" : "none";
    picture.style.maxHeight = scale === 1 ? "" : "none";
  };
  const zoom = (by) => {
    if (!picture) return;
    if (scale === 1) scale = Math.max(0.05, picture.getBoundingClientRect().width / Math.max(1, picture.naturalWidth));
    scale = Math.min(8, Math.max(0.05, scale * by));
    size();
  };
  const show = async () => {
    const wanted = page;
    place.textContent = `${page} / ${card.pages}`;
    place.setAttribute("aria-label", t("page {page} of {pages}", { page, pages: card.pages }));
    setOff(previous, page <= 1);
    setOff(next, page >= card.pages);
    try {
      const got = await panel.ask("picture", { tag: card.key, page, large: true });
      if (wanted !== page || !dialog.isConnected) return;
      if (picture) panel.forgetPicture(picture);
      picture = got.problem ? null : panel.picture(got.buffers[0], got.type, got.alt);
      area.replaceChildren(picture ?? make("p", "", got.problem));
      size();
    } catch (error) {
      area.replaceChildren(make("p", "", error.problem ?? String(error)));
    }
  };
  const turn = (step) => {
    const wanted = Math.min(card.pages, Math.max(1, page + step));
    if (wanted === page) return;
    page = wanted;
    show();
  };
  const dialog = openDialog(panel, {
    label: card.tag,
    content: make("div", "agentcell-look-content", bar, area),
    closed: () => picture && panel.forgetPicture(picture),
  });
  dialog.addEventListener("keydown", (event) => {
    const does = {
      ArrowLeft: () => scale === 1 && turn(-1),
      PageUp: () => turn(-1),
      ArrowRight: () => scale === 1 && turn(1),
      PageDown: () => turn(1),
      "+": () => zoom(1.5),
      "=": () => zoom(1.5),
      "-": () => zoom(1 / 1.5),
      0: () => {
        scale = 1;
        size();
      },
    }[event.key];
    if (does && !event.ctrlKey && !event.metaKey) does();
  });
  area.focus();
  show();
}

// Scroll `list`, and nothing around it, as far as `node` needs.
function showWithin(list, node) {
  const frame = list.getBoundingClientRect();
  const box = node.getBoundingClientRect();
  if (box.bottom > frame.bottom) list.scrollTop += box.bottom - frame.bottom;
  else if (box.top < frame.top) list.scrollTop -= frame.top - box.top;
}

function render({ model, el }) {
  const panel = openPanel({ model, el, name: "attachments", title: "Attachments" });
  const { t } = panel;
  const cards = new Map();
  let order = [];
  let wantsFocus = null;

  const title = setAttributes(make("h3"), { tabindex: "-1" }); // takes the focus after the last card
  panel.home = title;
  const about = make("span", "agentcell-quiet agentcell-about");
  const uploads = make("div", "agentcell-uploads");
  const take = (files, failed) => sendFiles(panel, files, uploads, failed);
  const files = fileButton({ text: t("Add files"), accept: ACCEPT, take });

  const names = make("datalist");
  names.id = `agentcell-names-${Math.random().toString(36).slice(2)}`;
  const place = setAttributes(make("input", "agentcell-place"), {
    type: "text",
    placeholder: t("Path, address or variable"),
    "aria-label": t("Path, address or variable"),
    list: names.id,
    autocomplete: "off",
    spellcheck: "false",
  });
  const kind = setAttributes(make("select"), { "aria-label": t("What the address leads to") });
  for (const [value, text] of [["", "by its ending"], ["image", "an image"], ["pdf", "a PDF"]]) {
    kind.append(setAttributes(make("option", "", t(text)), { value }));
  }
  kind.hidden = true;
  place.addEventListener("input", () => {
    kind.hidden = !/^https?:/i.test(place.value.trim());
  });
  const attach = make("button", "agentcell-button", t("Attach"));
  attach.type = "submit";
  const form = make("form", "agentcell-add", place, names, kind, attach);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isOff(attach)) return;
    setOff(attach, true);
    const reply = await panel.attempt("add", { place: place.value, kind: kind.hidden ? "" : kind.value });
    setOff(attach, false);
    if (reply) {
      place.value = "";
      kind.hidden = true;
    }
  });

  const list = setAttributes(make("ul", "agentcell-cards"), { role: "list" }); // Safari forgets it
  const hint = make("p", "agentcell-hint", t("Drop, paste or choose images and PDFs."));
  panel.body.append(
    make("header", "agentcell-top", title, about),
    make("div", "agentcell-tools", files, form),
    uploads,
    panel.notice, // below many cards nobody would see it
    hint,
    list,
  );
  takeFiles(panel, panel.root, take);

  const tray = {
    dragged: null,
    enlarge: (card, page) => enlargeAttachment(panel, card, page),
    focusLater: (key) => {
      wantsFocus = key;
      focusWanted();
    },
    async bringBack(tag) {
      const reply = await panel.attempt("bring-back", { tag });
      if (reply) tray.focusLater(reply.tag);
    },
    async move(key, step) {
      const from = order.indexOf(key);
      const to = from + step;
      if (from < 0 || to < 0 || to >= order.length) return;
      await tray.arrange(key, from, to);
    },
    async moveTo(key, target) {
      const from = order.indexOf(key);
      const to = order.indexOf(target);
      if (from < 0 || to < 0 || from === to) return;
      await tray.arrange(key, from, to);
    },
    async arrange(key, from, to) {
      const wanted = [...order];
      wanted.splice(to, 0, ...wanted.splice(from, 1));
      const done = await panel.attempt("arrange", { tags: wanted });
      if (done) {
        const facts = { tag: key, place: to + 1, count: wanted.length };
        panel.say(t("{tag} is number {place} of {count} now.", facts));
      }
    },
  };

  function focusWanted() {
    if (wantsFocus !== null && cards.has(wantsFocus)) {
      cards.get(wantsFocus).label.focus();
      wantsFocus = null;
    }
  }

  const show = (state) => {
    const active = panel.root.getRootNode().activeElement;
    const at = order.findIndex((key) => cards.get(key).node.contains(active));
    const now = state.cards.map((card) => card.key);
    for (const key of order) {
      if (!now.includes(key)) {
        cards.get(key).drop();
        cards.delete(key);
      }
    }
    const isFirst = order.length === 0;
    let newest = null;
    state.cards.forEach((card, index) => {
      if (!cards.has(card.key)) {
        cards.set(card.key, attachmentCard(panel, tray, card));
        newest = isFirst ? null : cards.get(card.key).node;
      }
      cards.get(card.key).update(card, index, now.length);
    });
    if (now.join("\n") !== [...list.children].map((node) => node.dataset.key).join("\n")) {
      for (const key of now) {
        cards.get(key).node.dataset.key = key;
        list.append(cards.get(key).node);
      }
    }
    order = now;
    if (newest) showWithin(list, newest);
    if (at >= 0) {
      if (active.isConnected) active.focus();
      else if (now.length) cards.get(now[Math.min(at, now.length - 1)]).remove.focus();
      else title.focus();
    }
    title.textContent = now.length ? t("Attachments ({count})", { count: now.length }) : t("No attachments yet.");
    about.textContent = [
      state.model ? t("for {model}", state) : state.trouble,
      state.total ? t("with the next question: {total}", state) : "",
    ].filter(Boolean).join(" · ");
    hint.hidden = now.length > 0;
    names.replaceChildren(...state.names.map((name) => setAttributes(make("option"), { value: name })));
    focusWanted();
  };

  panel.on("state", show);
  panel.ask("hello").then(show, (error) => panel.fail(error));
  return () => panel.close();
}

export default { render };
