"""What SkyPilot calls accelerators and the machines of clouds (`sky show-gpus -a`)."""

ACCELERATORS = {
    "a10": "A10",
    "a100-pcie-80gb": "A100-80GB",
    "a100-sxm4-40gb": "A100",
    "a100-sxm4-80gb": "A100-80GB",
    "b200-sxm": "B200",
    "h100-pcie": "H100",
    "h100-sxm": "H100",
    "h200-sxm": "H200",
    "k80-die": "K80",
    "l40s": "L40S",
    "p100-sxm2-16gb": "P100",
    "t4": "T4",
    "v100-sxm2-16gb": "V100",
    "v100-sxm2-32gb": "V100-32GB",
}
CLOUDS = ("aws", "azure", "gcp")
