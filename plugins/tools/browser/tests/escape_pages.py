"""The ways in which a page could reach a server beside this machine's own: one page for each.

``{p}`` is the private server's host and port, ``{port}`` its port, ``{n}`` the way's name.
"""

from __future__ import annotations

PASSIVE = {
    "img": '<img src="http://{p}/{n}">',
    "script": '<script src="http://{p}/{n}"></script>',
    "style": '<link rel=stylesheet href="http://{p}/{n}">',
    "font": "<style>@font-face{{font-family:x;src:url(http://{p}/{n})}}</style>"
    '<p style="font-family:x">x',
    "iframe": '<iframe src="http://{p}/{n}"></iframe>',
    "object": '<object data="http://{p}/{n}"></object>',
    "embed": '<embed src="http://{p}/{n}" type="text/html">',
    "video": '<video src="http://{p}/{n}" autoplay muted></video>',
    "fetch": "<script>fetch('http://{p}/{n}', {{mode: 'no-cors'}}).catch(() => 0)</script>",
    "xhr": "<script>x = new XMLHttpRequest; x.open('GET', 'http://{p}/{n}'); x.send()</script>",
    "beacon": "<script>navigator.sendBeacon('http://{p}/{n}', 'x')</script>",
    "websocket": "<script>new WebSocket('ws://{p}/{n}')</script>",
    "eventsource": "<script>new EventSource('http://{p}/{n}')</script>",
    "worker": "<script>new Worker(URL.createObjectURL(new Blob([\"fetch('http://{p}/{n}',"
    "{{mode:'no-cors'}})\"])))</script>",
    "import": "<script type=module>import('http://{p}/{n}').catch(() => 0)</script>",
    "prefetch": '<link rel=prefetch href="http://{p}/{n}">',
    "preload": '<link rel=preload as=image href="http://{p}/{n}">',
    "modulepreload": '<link rel=modulepreload href="http://{p}/{n}">',
    "preconnect": '<link rel=preconnect href="http://{p}/">',
    "speculation": '<script type=speculationrules>{{"prefetch":[{{"urls":["http://{p}/{n}"]}}],'
    '"prerender":[{{"urls":["http://{p}/{n}"]}}]}}</script>',
    "framed form": "<iframe name=f></iframe><form id=g target=f method=post action='http://{p}/{n}'>"
    "</form><script>g.submit()</script>",
    "redirected img": '<img src="/redirect?{n}">',
    "decimal": '<img src="http://2130706433:{port}/{n}">',
    "hexadecimal": '<img src="http://0x7f.1:{port}/{n}">',
    "octal": '<img src="http://0177.0.0.1:{port}/{n}">',
    "localhost": '<img src="http://localhost:{port}/{n}">',
    "below localhost": '<img src="http://x.localhost:{port}/{n}">',
    "unspecified": '<img src="http://0.0.0.0:{port}/{n}">',
    "ipv6": '<img src="http://[::1]:{port}/{n}">',
    "mapped ipv6": '<img src="http://[::ffff:127.0.0.1]:{port}/{n}">',
    "service worker": "<script>navigator.serviceWorker && navigator.serviceWorker.register("
    "'/worker.js?{p}/{n}')</script>",
    "stun": "<script>c = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{p}'}}]}});"
    "c.createDataChannel('x'); c.createOffer().then(o => c.setLocalDescription(o))</script>",
    "turn": "<script>c = new RTCPeerConnection({{iceServers: [{{urls: 'turn:{p}?transport=tcp',"
    "username: 'x', credential: 'x'}}]}}); c.createDataChannel('x');"
    "c.createOffer().then(o => c.setLocalDescription(o))</script>",
    "webtransport": "<script>try {{ new WebTransport('https://{p}/{n}') }} catch (e) {{}}</script>",
}
"""What loads by itself, in the background of a page."""
ACTIVE = {
    "location": "<script>location = 'http://{p}/{n}'</script>",
    "meta refresh": '<meta http-equiv=refresh content="0;url=http://{p}/{n}">',
    "form": "<form id=g method=post action='http://{p}/{n}'></form><script>g.submit()</script>",
    "window": "<script>open('http://{p}/{n}')</script>",
    "window without opener": "<script>open('http://{p}/{n}', '_blank', 'noopener')</script>",
    "blank window": "<script>w = open('about:blank'); w.location = 'http://{p}/{n}'</script>",
    "download": "<a id=a download href='http://{p}/{n}'>x</a><script>a.click()</script>",
    "ping": "<a id=a ping='http://{p}/{n}' href='#x'>x</a><script>a.click()</script>",
    "data frame": "<iframe src=\"data:text/html,<img src='http://{p}/{n}'>\"></iframe>",
    "view-source": "<script>open('view-source:http://{p}/{n}')</script><img src='http://{p}/{n}'>",
}
"""What leads away from a page."""


def written(way: str, port: int) -> str:
    """The page of a way."""
    form = {**PASSIVE, **ACTIVE}[way]
    body = form.format(p=f"127.0.0.1:{port}", port=port, n=way.replace(" ", "-"))
    return f"<!doctype html><title>{way}</title><p>text{body}"
