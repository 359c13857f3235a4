// Python owns `cards` and `notice`; this file asks for a removal. See __init__.py beside it.

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawCard(model, card, pictures) {
  const item = element("li", "agentcell-attachments-card");
  if (card.thumbnail) {
    const address = URL.createObjectURL(new Blob([card.thumbnail], { type: card.mime_type }));
    pictures.push(address);
    const picture = element("img", "agentcell-attachments-picture");
    picture.src = address;
    picture.alt = card.alt;
    item.appendChild(picture);
  } else {
    const nothing = element("div", "agentcell-attachments-picture", "no preview");
    nothing.setAttribute("aria-hidden", "true");
    item.appendChild(nothing);
  }

  const words = element("div", "agentcell-attachments-words");
  words.append(
    element("div", "agentcell-attachments-tag", card.tag),
    element("div", "agentcell-attachments-detail", card.detail),
  );

  const remove = element("button", "agentcell-attachments-remove", "Remove");
  remove.type = "button";
  remove.setAttribute("aria-label", `Remove ${card.tag}`);
  remove.addEventListener("click", () => {
    if (remove.getAttribute("aria-disabled")) return;
    // Until Python has answered, which a running cell delays. (`disabled` would drop the focus.)
    remove.setAttribute("aria-disabled", "true");
    model.send({ kind: "forget", tag: card.tag });
  });

  item.append(words, remove);
  return item;
}

function render({ model, el }) {
  const panel = element("section", "agentcell-attachments");
  panel.setAttribute("aria-label", "Attachments");
  // The notebook must not take a key that is meant for a button here.
  panel.setAttribute("data-lm-suppress-shortcuts", "true");
  const keepKeys = (event) => event.stopPropagation();
  panel.addEventListener("keydown", keepKeys);

  const title = element("div", "agentcell-attachments-title");
  title.tabIndex = -1; // where the focus goes when the last card is removed
  const list = element("ul", "agentcell-attachments-list");
  list.setAttribute("role", "list"); // Safari forgets it for lists without bullets
  const notice = element("div", "agentcell-attachments-notice");
  notice.setAttribute("role", "status");
  panel.append(title, list, notice);
  el.appendChild(panel);

  let pictures = [];
  const dropPictures = () => {
    pictures.forEach((address) => URL.revokeObjectURL(address));
    pictures = [];
  };

  const showCards = () => {
    const buttons = [...list.querySelectorAll("button")];
    const focused = buttons.findIndex((button) => button === panel.getRootNode().activeElement);
    dropPictures();
    const cards = model.get("cards");
    title.textContent = cards.length ? `Attachments (${cards.length})` : "No attachments yet.";
    list.replaceChildren(...cards.map((card) => drawCard(model, card, pictures)));
    if (focused >= 0) {
      const left = list.querySelectorAll("button");
      (left[Math.min(focused, left.length - 1)] ?? title).focus();
    }
  };
  const showNotice = () => {
    notice.textContent = model.get("notice");
  };
  const enable = (message) => {
    if (message.kind !== "done") return;
    for (const button of list.querySelectorAll("button")) button.removeAttribute("aria-disabled");
  };

  model.on("change:cards", showCards);
  model.on("change:notice", showNotice);
  model.on("msg:custom", enable);
  showCards();
  showNotice();

  // Called when the view goes away; without it each re-run leaves listeners and pictures behind.
  return () => {
    model.off("change:cards", showCards);
    model.off("change:notice", showNotice);
    model.off("msg:custom", enable);
    dropPictures();
  };
}

export default { render };
