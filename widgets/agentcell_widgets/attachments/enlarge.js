// One attachment, large: its pages, and nearer.

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
