"""Every write of the demo."""

from console.demo.services.files import write_site_files
from console.demo.services.seed import seed

__all__ = ["seed", "write_site_files"]
