"""TRL: `KernelReward` as a reward function, `KernelRollout` for several turns, `KernelEnvironment` for a tool.

The data set has the columns `prompt` and `problem`, and `backend` where one is asked for:

    reward = KernelReward(Judge(reward="interval", deadline_s=600))
    GRPOTrainer(model, reward_funcs=reward, train_dataset=rows, args=args)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelgauge_client.answers import PARTS
from kernelgauge_client.blocking import result_of
from kernelgauge_client.episode import Episode, ask, value_of
from kernelgauge_client.errors import JudgeError
from kernelgauge_client.judge import Judge

_MARK = "the answer of the policy"
_LAST_TURN = "That was your last turn: nothing more is judged."


class KernelReward:
    """An async reward function: what each completion is worth, None where there is no verdict, so that TRL masks it.

    With a `KernelRollout` or `KernelEnvironment` it is what each trajectory is worth, which they have had judged.
    The means of all parts are logged as `kernelgauge/PART`, outcome and reason beside each completion.

    Raises, when called:
        JudgeError: no server, a wrong token, an unknown problem, a missing column.
    """

    __name__ = "kernelgauge"  # under which TRL logs it

    def __init__(self, judge: Judge):
        self._judge = judge

    async def __call__(
        self,
        completions: Sequence[Any],
        problem: Sequence[str] | None = None,
        backend: Sequence[str] | None = None,
        kernelgauge: Sequence[list[dict[str, Any]]] | None = None,
        environments: Sequence[KernelEnvironment] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **_: Any,
    ) -> list[float | None]:
        if problem is None:
            raise JudgeError(f"the data set has no column `problem`: {_COLUMNS}")
        if environments is not None:
            turns = [each.answers for each in environments]
        else:
            turns = list(kernelgauge or [[] for _ in completions])  # a rollout's, under the name it gives them
        # A policy that has called no tool has its text judged.
        silent = [at for at, each in enumerate(turns) if not each]
        backends = backend or [""] * len(completions)
        asked = [{"problem": problem[at], "text": _text(completions[at]), "backend": backends[at]} for at in silent]
        for at, answer in zip(silent, await ask(self._judge, asked) if asked else (), strict=True):
            turns[at] = [answer]
        last = [each[-1] for each in turns]
        if log_extra:
            log_extra("outcome", [each["outcome"] or each["status"] for each in last])
            log_extra("reason", [each["reason"] for each in last])
        if log_metric:
            for name, value in _means(last).items():
                log_metric(f"kernelgauge/{name}", value)
        return [value_of(each) for each in turns]


class KernelRollout:
    """A `rollout_func`: after each turn the policy is told what became of its answer, and answers again.

    The whole trajectory is one completion, in which no loss falls on the feedback. It ends with the last turn, with a
    turn without a verdict, and where feedback would not fit into `max_completion_length`. Use it with `KernelReward`.

    Args:
        rows: those of the data set: of a completion TRL tells no more than its prompt. Prompts are lists of messages.
        turns: at most so many; never more than the reward allows.

    Raises:
        JudgeError: a row without `prompt` or `problem`, or two problems under one prompt.
    """

    def __init__(self, judge: Judge, rows: Sequence[Mapping[str, Any]], turns: int = 2):
        self._judge, self._turns = judge, turns
        self._rows: dict[str, Mapping[str, Any]] = {}
        for row in rows:
            if not isinstance(row.get("prompt"), list) or not isinstance(row.get("problem"), str):
                raise JudgeError(f"a row has no prompt of messages, or no problem: {_COLUMNS}")
            known = self._rows.setdefault(_key(row["prompt"]), row)
            if known["problem"] != row["problem"]:
                raise JudgeError(
                    f"problems {known['problem']} and {row['problem']} have the same prompt: TRL tells a rollout "
                    "nothing but the prompt, so that each problem needs its own"
                )

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        prompt_ids, *_ = trainer._tokenize_prompts(prompts)
        running = [_Running(self._episode(prompt), ids) for prompt, ids in zip(prompts, prompt_ids, strict=True)]
        going = running
        while going:
            ids, logprobs = trainer._generate_single_turn([each.context for each in going], None, {}, 1)
            for at, each in enumerate(going):
                each.add(ids[at], 1, logprobs[at] if logprobs else None, trainer.max_completion_length)
            texts = trainer.processing_class.batch_decode([each.turn for each in going], skip_special_tokens=True)
            asked = [each.episode.candidate(text) for each, text in zip(going, texts, strict=True)]
            for each, text, answer in zip(going, texts, result_of(ask(self._judge, asked)), strict=True):
                each.episode.take(text, answer)
            going = [each for each in going if not each.episode.done and each.told(trainer)]
        return {
            "prompt_ids": prompt_ids,
            "completion_ids": [each.ids for each in running],
            "logprobs": [each.logprobs for each in running] if running[0].logprobs else None,
            "env_mask": [each.mask for each in running],
            "kernelgauge": [each.episode.answers for each in running],
        }

    def _episode(self, prompt: Any) -> Episode:
        if (row := self._rows.get(_key(prompt))) is None:
            raise JudgeError(
                "a prompt is in none of the rows that KernelRollout was given: give it the whole data set"
            )
        return Episode(row["problem"], prompt, self._turns, row.get("backend") or "")


class KernelEnvironment:
    """An environment whose only tool is `submit`; pass `lambda: KernelEnvironment(judge)` as `environment_factory`.

    Use it with `KernelReward`, which logs, and judges the text of a policy that has called no tool.

    Args:
        turns: at most so many submissions; never more than the reward allows.
    """

    def __init__(self, judge: Judge, turns: int | None = None):
        self._judge, self._turns = judge, turns
        self._episode: Episode | None = None
        self._taken = asyncio.Lock()

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The judge's, submission by submission."""
        return self._episode.answers if self._episode else []

    def reset(self, problem: str | None = None, backend: str | None = None, **_: Any) -> None:
        """Begin anew with a row of the data set. Raises JudgeError: it names no problem."""
        if not isinstance(problem, str):
            raise JudgeError(f"the data set has no column `problem`: {_COLUMNS}")
        self._episode = Episode(problem, [], self._turns, backend or "")

    async def submit(self, file: str) -> str:
        """
        Judge a kernel: whether it is right, and how much faster than the reference.

        Args:
            file: The complete Python file that defines ModelNew.

        Returns:
            What became of it, and what to do next.
        """
        async with self._taken:  # a policy may call twice in one turn
            if self._episode is None or self._episode.done:
                return _LAST_TURN
            (answer,) = await ask(self._judge, [self._episode.candidate(file)])
            self._episode.take(file, answer)
            return _LAST_TURN if answer["reward"] is None else str(answer["feedback"])


class _Running:
    """One trajectory in tokens: which are the policy's, which are feedback."""

    def __init__(self, episode: Episode, prompt_ids: list[int]):
        self.episode, self._prompt = episode, list(prompt_ids)
        self.ids: list[int] = []
        self.mask: list[int] = []
        self.logprobs: list[float] = []
        self.turn: list[int] = []

    @property
    def context(self) -> list[int]:
        return self._prompt + self.ids

    def add(self, ids: list[int], mask: int, logprobs: list[float] | None, most: int) -> None:
        """The tokens of a turn or of feedback, as far as there is room."""
        self.turn = list(ids)[: most - len(self.ids)]
        self.ids += self.turn
        self.mask += [mask] * len(self.turn)
        if logprobs is not None:
            self.logprobs += list(logprobs)[: len(self.turn)]

    def told(self, trainer: Any) -> bool:
        """Whether the feedback on the last turn leaves room for another turn; it is added where it does."""
        ids = _feedback_ids(trainer, self.episode.messages[-1]["content"], self.ids[-1])
        most = trainer.max_completion_length
        context = getattr(trainer.model.config, "max_position_embeddings", None)
        if len(self.ids) + len(ids) >= most or (context and len(self.context) + len(ids) >= context):
            return False
        self.add(ids, 0, [0.0] * len(ids) if self.logprobs else None, most)
        return True


def _feedback_ids(trainer: Any, feedback: str, last: int) -> list[int]:
    """What the chat template puts between the policy's answer, which ends with the token `last`, and its next one."""
    tokenizer = trainer.processing_class
    talk = [
        {"role": role, "content": text} for role, text in (("user", "?"), ("assistant", _MARK), ("user", feedback))
    ]
    rendered = tokenizer.apply_chat_template(
        talk,
        tokenize=False,
        add_generation_prompt=True,
        chat_template=trainer.chat_template,
        **trainer.chat_template_kwargs,
    )
    _, mark, after = rendered.partition(_MARK)
    if not mark:
        raise JudgeError("the model's chat template does not show what an assistant says: choose another template")
    if last in trainer.eos_token_ids:  # which the template writes once more
        after = after.removeprefix(tokenizer.decode([last]))
    return list(tokenizer(after, add_special_tokens=False)["input_ids"])


def _means(answers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of every part over the answers with a verdict, and the share of those."""
    judged = [each["parts"] for each in answers if each["reward"] is not None]
    means = {name: sum(each[name] for each in judged) / len(judged) for name in PARTS} if judged else {}
    return means | {"verdict": len(judged) / len(answers)}


def _text(completion: Any) -> str:
    """What the policy wrote last: a completion is a text, or messages."""
    if isinstance(completion, str):
        return completion
    said = [each.get("content") for each in completion if each.get("role") == "assistant"]
    return said[-1] if said and isinstance(said[-1], str) else ""


def _key(prompt: Any) -> str:
    return json.dumps(prompt, sort_keys=True)


_COLUMNS = "it needs `prompt`, and `problem` with a name such as 1/23"
