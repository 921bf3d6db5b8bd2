"""Logs of schedulers in the forms that are read: our own jobs, of no real cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
SACCT_JSON = json.dumps({"meta": {}, "errors": [], "jobs": [
    {"job_id": 7, "name": "vgg16", "nodes": "n1", "allocation_nodes": 2,
     "state": {"current": ["COMPLETED"], "reason": "None"},
     "time": {"elapsed": 7200, "start": 1770000000, "end": 1770007200},
     "tres": {"allocated": [{"type": "cpu", "name": "", "count": 8},
                            {"type": "gres", "name": "gpu", "count": 12},
                            {"type": "gres", "name": "gpu:a100", "count": 12}]}},
    {"job_id": 8, "name": "gpt2", "allocation_nodes": {"set": True, "number": 1},
     "state": {"current": "CANCELLED"}, "time": {"start": 1770000000, "end": 1770001800},
     "tres": {"allocated": [{"type": "gres", "name": "gpu:a100", "count": 2}]}},
    {"job_id": 9, "name": "later", "allocation_nodes": 0, "state": {"current": ["PENDING"]},
     "time": {"elapsed": 0, "start": 0}},
]})  # fmt: skip
HELIOS = """\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,u0,vc0,8,32,8,COMPLETED,2020-06-09 18:41:06,2020-06-09 18:41:36,2020-06-09 19:41:36,3600,30
2,u0,vc0,0,1,1,COMPLETED,2020-06-09 18:41:07,2020-06-09 18:41:42,2020-06-09 18:50:02,500,35
3,u1,vc1,2,8,1,CANCELLED,2020-06-09 18:41:09,2020-06-09 18:41:54,2020-06-09 20:41:54,7200,45
"""
# openb_pod_list
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-0,8000,16384,1,250,,LS,Running,0,7200,0
pod-1,8000,16384,4,1000,A10,LS,Failed,100,3700,100
pod-2,8000,16384,0,0,,LS,Succeeded,0,7200,0
pod-3,8000,16384,2,1000,,LS,Pending,50,90,
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
workloads: {{"*resnet50*": resnet50, "bert_large*": bert-large-s512, "b*": bert-base-s128}}
"""


def read(
    folder: Path, text: str, file: str = "log.txt", columns: Mapping[str, str] | None = None
) -> JobLog:
    """What is read of a file of this text; columns: as a study names them."""
    path = folder / file
    path.write_text(text, encoding="utf-8")
    return read_job_log(path, columns or {})
