"""`minispore download`: a data set from the network into a folder."""

from minispore._cli.arguments import Arguments
from minispore._cli.errors import told_to_the_user
from minispore.dataset.download import download_mnist


def download(arguments: Arguments) -> None:
    """Download, and say how to go on.

    Raises:
        UserError: pooch is missing, no mirror answers, or the folder cannot be written.
    """
    with told_to_the_user(ImportError, OSError, RuntimeError):
        folder = download_mnist(arguments.folder)
    print(f"MNIST is in {folder}; next: minispore train --data {folder}")
