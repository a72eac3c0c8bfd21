"""The demo: people, tenants, prices, a simulated fleet of two sites and a steady life of jobs.

How the pieces meet (console/embedded starts them):

- `manage.py seed_demo [--devices 1024]`, any number of times, makes the rows and, for each site of
  `fleet.SITES`, two files in WEIR_HOME/demo with mode 0600: `<site>.json`, the nodes in the form that
  `python -m pool.agent.fleet --nodes FILE` reads, and `<site>.token`, a join token for as many nodes as have
  not joined yet (empty when all have).
- one process a site: `python -m pool.agent.fleet --server HOST:PORT --nodes WEIR_HOME/demo/<site>.json
  --token-file WEIR_HOME/demo/<site>.token --state WEIR_HOME/demo/<site>.state.json`.
- `manage.py demo_load` submits work as the tenants' members until it is told to stop.
"""
