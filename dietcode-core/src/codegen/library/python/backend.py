"""Makes a wheel of this folder, as pip asks for it, with Python's own library. Written by `dietcode build-lib`."""

import base64
import hashlib
import pathlib
import sysconfig
import zipfile


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    tag = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    info = f"{NAME.lower()}-{VERSION}.dist-info"
    package = pathlib.Path(__file__).parent / NAME
    files = {f"{NAME}/{file}": (package / file).read_bytes() for file in FILES}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n".encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: dietcode\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = f"{NAME.lower()}-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
