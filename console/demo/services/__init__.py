"""Every write of the demo."""

from console.demo.services.bills import draft_bills
from console.demo.services.files import write_site_files
from console.demo.services.seed import seed
from console.demo.services.tidy import tidy

__all__ = ["draft_bills", "seed", "tidy", "write_site_files"]
