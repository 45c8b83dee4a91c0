"""Images as matrices of patches, and their error in decibels."""

import numpy as np

from ..checks import check_integer, check_same_shape, check_vectors


def image_patches(image, *, size=8):
    """Cut a grey image into non-overlapping square patches, row by row; an incomplete border is left out.

    Parameters
    ----------
    image : array_like, shape (height, width)
    size : int
        Edge of a patch, pixels.

    Returns
    -------
    ndarray, shape (height // size * (width // size), size ** 2)

    References
    ----------
    .. [1] Document 002, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.datasets.images import image_patches
    >>> image_patches(np.arange(16).reshape(4, 4), size=2)[1]
    array([2., 3., 6., 7.])
    """
    image = check_vectors("image", image)
    size = check_integer("size", size, 1, min(image.shape), "smaller edge of the image")
    windows = np.lib.stride_tricks.sliding_window_view(image, (size, size))
    return windows[::size, ::size].reshape(-1, size * size)


def image_from_patches(patches, width):
    """Put the patches of `image_patches` back together.

    Parameters
    ----------
    patches : array_like, shape (n_patches, size ** 2)
    width : int
        Width of the image they were cut from, pixels; the result lacks the incomplete border.

    Returns
    -------
    ndarray, shape (n_patches // columns * size, columns * size) with columns = width // size

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.datasets.images import image_from_patches, image_patches
    >>> image = np.arange(16.0).reshape(4, 4)
    >>> np.array_equal(image_from_patches(image_patches(image, size=2), width=4), image)
    True
    """
    patches = check_vectors("patches", patches)
    size = round(patches.shape[1] ** 0.5)
    if size * size != patches.shape[1]:
        raise ValueError(f"patches must hold square patches, got {patches.shape[1]} pixels a patch")
    columns = check_integer("width", width, size) // size
    if len(patches) % columns:
        raise ValueError(f"width={width} holds {columns} patches of {size} pixels; {len(patches)} do not fill rows")
    tiles = patches.reshape(-1, columns, size, size)
    return tiles.swapaxes(1, 2).reshape(-1, columns * size)


def psnr(reference, image, *, peak=255.0):
    """Peak signal-to-noise ratio 20 log10(peak / root mean squared error), in dB; infinite for equal images.

    Examples
    --------
    >>> import numpy as np
    >>> from gencap.datasets.images import psnr
    >>> round(psnr(np.zeros((2, 2)), np.full((2, 2), 25.5)).item(), 6)
    20.0
    """
    reference, image = check_vectors("reference", reference), check_vectors("image", image)
    check_same_shape("image", image, "reference", reference)
    return psnr_of_error(np.mean((reference - image) ** 2), peak=peak)


def psnr_of_error(mean_squared_error, *, peak=255.0):
    """`psnr` of an image with this mean squared error.

    Parameters
    ----------
    mean_squared_error : float or ndarray
    peak : float
        Largest value that a pixel may have.

    Returns
    -------
    float or ndarray
        dB.

    Examples
    --------
    >>> from gencap.datasets.images import psnr_of_error
    >>> round(psnr_of_error(25.5**2).item(), 6)
    20.0
    """
    with np.errstate(divide="ignore"):
        return 20 * np.log10(peak) - 10 * np.log10(mean_squared_error)
