"""What others need to test their own parts of hudkit: a scripted model, and one conformance suite per protocol.

| to test | use |
|---|---|
| a program that calls a model over HTTP | `ScriptedModel`, a server on loopback that speaks three providers' shapes |
| an agent in this process | `InProcessModel`, the port to models answered from the same scripts |
| what a model that judges sentences adds to what is heard | `ScriptedJudge` |
| a log store | `hudkit.testing.store_conformance.StoreConformance` |
| a host with the HUD | `hudkit.testing.host_conformance.HostConformance` |
| a connection to a model | `hudkit.testing.model_conformance.ModelConformance` |
| a scheduler of rooms | `hudkit.testing.scheduler_conformance.SchedulerConformance` |

Nothing in production imports this package.
"""

from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import Hang, Refusal, ScriptedCall, ScriptedReply, says, uses
from hudkit.models.scripted_model import InProcessModel, read_script
from hudkit.testing.model_server import ScriptedModel
from hudkit.testing.scripted_judge import ScriptedJudge

__all__ = [
    "CapturedRequest",
    "Hang",
    "InProcessModel",
    "Refusal",
    "ScriptedCall",
    "ScriptedJudge",
    "ScriptedModel",
    "ScriptedReply",
    "read_script",
    "says",
    "uses",
]
