/** In the frame of a diagram: draws what the page sends. The frame has no origin and no network. */
const tell = (message) => parent.postMessage(message, "*");

addEventListener("message", async (event) => {
  if (event.source !== parent) return;
  const { text, dark } = event.data;
  mermaid.initialize({
    ...{ startOnLoad: false, securityLevel: "strict", htmlLabels: false, flowchart: { htmlLabels: false } },
    theme: dark ? "dark" : "neutral",
    fontFamily: "system-ui, sans-serif",
  });
  try {
    const { svg } = await mermaid.render("diagram", text);
    document.body.replaceChildren(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement);
    document.body.style.margin = "0";
    tell({ height: Math.ceil(document.body.firstElementChild.getBoundingClientRect().height) + 8 });
  } catch (error) {
    tell({ error: String(error?.message ?? error) });
  }
});
tell({ ready: true });
