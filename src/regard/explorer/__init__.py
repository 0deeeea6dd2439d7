"""The explorer: a small server on this machine, and a page of plain ES modules.

The server hands out ``page/`` as it is (``/map.js`` is ``page/map.js``); ``/steps``, ``/translate``, ``/caption`` and
``/kinds`` all answer with ``page/index.html``, so that each view has its own address. The address that
``regard serve`` prints ends in ``?token=…``; the page keeps the token in the browser's storage of that address, which
its other tabs share, and sends it as ``X-Regard-Token`` with every call of ``/api/``. What is refused comes back as
``{"error": "why"}`` with a 4xx or 503.
"""
