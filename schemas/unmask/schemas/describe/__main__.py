"""`python -m unmask.schemas.describe`: the contract's page, on standard output."""

import sys

from unmask.schemas.describe import contract_page

sys.stdout.write(contract_page())
