"""One trajectory: the policy answers, is told its verdict, and answers again."""

from __future__ import annotations

import verifiers.v1 as vf

from kernelgauge_verifiers.taskset import KernelTask


class KernelEnvConfig(vf.EnvConfig):
    """Its one seat is called `agent`, as that of a plain taskset."""

    agent: vf.AgentConfig = vf.AgentConfig()


class KernelEnv(vf.Env[KernelEnvConfig]):
    """As many turns as the reward allows, or fewer where the task says so."""

    async def run(self, task: KernelTask, agents: vf.Agents) -> None:
        """Raises NoVerdict: the episode is an error, and no zero."""
        episode = task.episode()
        async with task.config.judge() as judge, agents.agent.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                await task.judged(interaction.trace, judge, episode, segment.last_reply)
                if episode.done:
                    return
                segment = await interaction.turn(episode.messages[-1]["content"])
