"""Logs of schedulers in the forms that are read: our own jobs, of no real cluster."""

from __future__ import annotations

import json
from pathlib import Path

from dse.fleet.job_log import JobLog, read_job_log

SACCT = """\
JobID|JobName|User|AllocTRES|ElapsedRaw|NNodes|State
101|resnet50-imagenet|ann|billing=64,cpu=64,gres/gpu:v100=8,gres/gpu=8,mem=480G,node=1|86400|1|COMPLETED
101.batch|batch||cpu=64,mem=480G,node=1|86400|1|COMPLETED
101.0|python||cpu=64,gres/gpu:v100=8,mem=480G,node=1|86390|1|COMPLETED
102|bert_large_pretrain_v3|bob|cpu=256,gres/gpu:a100=32,gres/gpu=32,node=4|360000|4|COMPLETED
103_1|sweep|eve|billing=8,cpu=8,gres/gpu=1,mem=60G,node=1|7200|1|FAILED
103_2|sweep|eve|billing=8,cpu=8,gres/gpu=1,mem=60G,node=1|2|1|FAILED
104|preprocess|ann|billing=16,cpu=16,mem=60G,node=1|3600|1|COMPLETED
"""
SACCT_CSV = """\
JobID,JobName,AllocGRES,Elapsed,NNodes
7,vgg16,gpu:4,1-02:00:00,2
8,gpt2-medium,gpu:a100:2,30:00,1
"""
KUBERNETES = """\
name,namespace,replicas,gpus_per_pod,gpu_type,model,batch_per_gpu,start_time,completion_time
train-a,vision,4,8,NVIDIA-A100-SXM4-80GB,resnet50,128,2026-05-01T08:00:00Z,2026-05-01T18:00:00Z
train-b,nlp,1,1,NVIDIA-A100-SXM4-80GB,ranker-v2,,2026-05-01T08:00:00Z,2026-05-01T09:30:00Z
"""
# pai_task_table: job_name, task_name, inst_num, status, start_time, end_time, plan_cpu, plan_mem,
# plan_gpu, gpu_type
PAI = """\
a1,worker,16.0,Terminated,1000.0,4600.0,600.0,30.0,100.0,P100
a1,ps,4.0,Terminated,1000.0,4600.0,800.0,30.0,,
b2,tensorflow,1.0,Failed,0.0,7200.0,600.0,29.3,50.0,T4
c3,worker,2.0,Running,500.0,,600.0,29.3,800.0,V100
d4,worker,5.0,Terminated,0.0,10.0,600.0,29.3,,CPU
"""
PHILLY = json.dumps([
    {"status": "Pass", "vc": "x", "jobid": "application_1", "user": "u",
     "submitted_time": "2017-10-01 00:00:00", "attempts": [
         {"start_time": "2017-10-01 01:00:00", "end_time": "2017-10-01 02:00:00",
          "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]},
         {"start_time": "2017-10-01 03:00:00", "end_time": "2017-10-01 05:00:00",
          "detail": [{"ip": "m1", "gpus": ["gpu0"]}, {"ip": "m2", "gpus": ["gpu3"]}]}]},
    {"status": "Killed", "vc": "x", "jobid": "application_2", "user": "u",
     "submitted_time": "2017-10-01 00:00:00", "attempts": []},
    {"status": "Failed", "vc": "y", "jobid": "application_3", "user": "v",
     "submitted_time": "2017-10-01 00:00:00", "attempts": [
         {"start_time": "2017-10-01 01:00:00", "end_time": "None",
          "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]},
])  # fmt: skip
STUDY = """\
fleet: logged
population: {log}
hardware: {{gpu: 15.7 TFLOP/s, memory: 900 GB/s, pcie: 12 GB/s, ethernet: 25gbe, nvlink: 150 GB/s,
           efficiency: 0.7, gpus_per_server: 8}}
upgrades: [{{ethernet: 100gbe}}]
"""


def read(folder: Path, text: str, name: str = "log.txt", **columns: str) -> JobLog:
    """What is read of a file of this text; columns: as a study names them."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_job_log(path, columns)
