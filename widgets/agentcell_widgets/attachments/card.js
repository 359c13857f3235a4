// One attachment as a card: its preview, its tag and label, and what becomes of it.

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
