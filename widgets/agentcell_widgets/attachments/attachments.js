// The tray of attachments. Python owns everything shown; see __init__.py beside it.

const ACCEPT = "image/*,application/pdf,.heic,.heif,.avif,.tif,.tiff";

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
