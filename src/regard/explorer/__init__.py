"""The explorer: a small server on this machine, and a page of plain ES modules.

The modules stand in folders, and each folder is served under its name:

    page/     the frame of every view: index.html, app.js, calls of the API, controls, colours of the page
    views/    one module a view, with its style
    maths/    the mechanisms computed in the browser, and the numbers they start with
    maps/     maps of any size: tiles, gestures, small maps, words
    viewer/   of ``regard.show``: maps, photo maps and tables, which figures in HTML and notebooks share

``/steps``, ``/translate``, ``/caption``, ``/kinds`` and ``/inspect`` all answer with ``page/index.html``, so that each
view has its own address. The address that ``regard serve`` prints ends in ``?token=…``; the page keeps the token in the
browser's storage of that address, which its other tabs share, and sends it as ``X-Regard-Token`` with every call of
``/api/``. What may be asked there is written in ``requests.py`` and ``exported.py``; what is refused comes back as
``{"error": "why"}`` with a 4xx or 503.
"""
