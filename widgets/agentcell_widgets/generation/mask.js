// A dialog in which a person paints what may change in a picture, with the mouse or the keyboard.
// Gives a PNG of the picture's own size: black where nothing may change, clear where it was painted.

const MASK_SIDE = 900; // pixels of the longer side that are painted on
const STEP = 8; // pixels of one press of an arrow key

function openMask(panel, { reference, bytes, type, done }) {
  const t = panel.t;
  const scale = Math.min(1, MASK_SIDE / Math.max(reference.width, reference.height));
  const width = Math.max(1, Math.round(reference.width * scale));
  const height = Math.max(1, Math.round(reference.height * scale));

  const picture = panel.picture(bytes, type, reference.name);
  const canvas = setAttributes(make("canvas", "agentcell-mask-canvas"), {
    width,
    height,
    tabindex: "0",
    role: "application",
    "aria-label": t("Paint what may change"),
  });
  const paint = canvas.getContext("2d");
  const cursor = setAttributes(make("div", "agentcell-mask-cursor"), { "aria-hidden": "true" });
  const stage = make("div", "agentcell-mask-stage", picture, canvas, cursor);
  stage.style.aspectRatio = `${width} / ${height}`;
  stage.style.maxWidth = `${width}px`;

  const size = setAttributes(make("input"), { type: "range", min: 4, max: 160, value: 40 });
  const erase = setAttributes(make("input"), { type: "checkbox" });
  const help = make("p", "agentcell-quiet", t("Paint with the mouse, or move with the arrow keys and hold the space bar."));
  let at = { x: width / 2, y: height / 2 };
  let isDown = false;
  let isPainted = false;

  const showCursor = () => {
    const part = canvas.clientWidth / width || 1;
    const across = Number(size.value) * part;
    cursor.style.width = cursor.style.height = `${across}px`;
    cursor.style.left = `${at.x * part - across / 2}px`;
    cursor.style.top = `${at.y * part - across / 2}px`;
  };
  const stroke = (from, to) => {
    paint.globalCompositeOperation = erase.checked ? "destination-out" : "source-over";
    paint.strokeStyle = "#e53935";
    paint.lineWidth = Number(size.value);
    paint.lineCap = paint.lineJoin = "round";
    paint.beginPath();
    paint.moveTo(from.x, from.y);
    paint.lineTo(to.x + 0.01, to.y);
    paint.stroke();
    isPainted = true;
  };
  const placeOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return {
      x: ((event.clientX - box.left) / box.width) * width,
      y: ((event.clientY - box.top) / box.height) * height,
    };
  };
  const moveTo = (to) => {
    const next = { x: Math.min(width, Math.max(0, to.x)), y: Math.min(height, Math.max(0, to.y)) };
    if (isDown) stroke(at, next);
    at = next;
    showCursor();
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    at = placeOf(event);
    isDown = true;
    stroke(at, at);
    showCursor();
  });
  canvas.addEventListener("pointermove", (event) => moveTo(placeOf(event)));
  for (const kind of ["pointerup", "pointercancel", "blur"]) {
    canvas.addEventListener(kind, () => {
      isDown = false;
    });
  }
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    if (event.key === " ") {
      event.preventDefault();
      if (!isDown) stroke(at, at);
      isDown = true;
    } else if (arrows[event.key]) {
      event.preventDefault();
      const [x, y] = arrows[event.key];
      const step = event.shiftKey ? STEP * 4 : STEP;
      moveTo({ x: at.x + x * step, y: at.y + y * step });
    }
  });
  canvas.addEventListener("keyup", (event) => {
    if (event.key === " ") isDown = false;
  });
  size.addEventListener("input", showCursor);

  const asFile = () =>
    new Promise((resolve) => {
      const mask = setAttributes(make("canvas"), { width: reference.width, height: reference.height });
      const black = mask.getContext("2d");
      black.fillStyle = "#000";
      black.fillRect(0, 0, mask.width, mask.height);
      black.globalCompositeOperation = "destination-out";
      black.drawImage(canvas, 0, 0, mask.width, mask.height);
      mask.toBlob((blob) => resolve(new File([blob], "mask.png", { type: "image/png" })), "image/png");
    });

  const says = setAttributes(make("span", "agentcell-quiet"), { role: "status" });
  const use = button({
    text: t("Use this mask"),
    kind: "agentcell-main",
    press: async () => {
      if (!isPainted) {
        says.textContent = t("Nothing is painted yet.");
        return;
      }
      const file = await asFile();
      dialog.close();
      done(file);
    },
  });
  const clear = button({
    text: t("Clear"),
    press: () => {
      paint.clearRect(0, 0, width, height);
      isPainted = false;
    },
  });
  const tools = make(
    "div",
    "agentcell-mask-tools",
    make("label", "", t("Brush"), size),
    make("label", "", erase, t("Erase")),
    clear,
    use,
    says,
  );
  const dialog = openDialog(panel, {
    label: `${t("Paint what may change")}: ${reference.name}`,
    content: make("div", "agentcell-mask", stage, help, tools),
    closed: () => panel.forgetPicture(picture),
  });
  showCursor();
  canvas.focus();
  return dialog;
}
