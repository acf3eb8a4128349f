"""Writes the cases of the image, audio, and diffusion models, with the classes of transformers 5.23, diffusers 0.42, and torch 2.15:

    python tests/models/golden/make_vision.py [NAME ...]

`expected.safetensors` has the inputs of each call, `CALL.INPUT`, and its output, `CALL.f64` and `CALL.f32`.
"""

import sys

import torch
import transformers
from common import models, relative, save, wide
from safetensors.torch import save_file

transformers.logging.set_verbosity_error()
NARROW = torch.float32


def images(seed, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class Plain:
    """A module without a folder of its own form."""

    def __init__(self, module):
        self.module = module

    def bfloat16(self):
        return Plain(self.module.bfloat16())

    def save_pretrained(self, folder):
        tensors = {name: value.contiguous() for name, value in self.module.state_dict().items()}
        save_file(tensors, f"{folder}/model.safetensors")


@torch.no_grad()
def outputs(name, config, build, run, calls, fix=lambda model: None, stored=lambda model: model):
    """Writes a case. `run(model, inputs)` returns the output of a call, `fix(model)` sets weights that are not drawn."""
    narrow, double = models(build, seed=len(name))
    fix(narrow)
    with wide():
        fix(double)
    expected = {}
    for call, inputs in calls.items():
        expected |= {f"{call}.{key}": value for key, value in inputs.items()}
        found = run(narrow, inputs)
        with wide():
            wanted = run(double, {key: value.double() if value.dtype == NARROW else value for key, value in inputs.items()})
        assert (found.dtype, wanted.dtype) == (NARROW, torch.float64)
        expected |= {f"{call}.f32": found, f"{call}.f64": wanted}
        print(f"{name} {call}: {list(wanted.shape)}, f32 {relative(found, wanted):.1e}, largest {wanted.abs().max():.1f}")
    save(name, config, stored(narrow), expected)


def eager(cls, config):
    return cls(**{key: value for key, value in config.items() if key != "model_type"}, attn_implementation="eager")


SMALL = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "num_channels": 3,
    "hidden_act": "gelu", "layer_norm_eps": 1e-6,
}


def make_vit():
    from transformers import ViTConfig, ViTModel

    config = {"model_type": "vit", **SMALL, "image_size": 24, "patch_size": 4, "qkv_bias": True}
    outputs(
        "vit", config,
        lambda: ViTModel(eager(ViTConfig, config), add_pooling_layer=False),
        lambda model, case: model(**case, interpolate_pos_encoding=True).last_hidden_state,
        {"same": {"pixel_values": images(1, 2, 3, 24, 24)}, "larger": {"pixel_values": images(2, 1, 3, 32, 40)}},
    )


def make_dinov2():
    from transformers import Dinov2Config, Dinov2Model

    # 37 x 37 patches as in the released checkpoints: candle-transformers fixes it.
    config = {
        "model_type": "dinov2", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "mlp_ratio": 4,
        "hidden_act": "gelu", "layer_norm_eps": 1e-6, "image_size": 518, "patch_size": 14, "num_channels": 3,
    }
    outputs(
        "dinov2", config,
        lambda: Dinov2Model(eager(Dinov2Config, config)),
        lambda model, case: model(**case).last_hidden_state,
        {"wide": {"pixel_values": images(1, 1, 3, 28, 42)}, "tall": {"pixel_values": images(2, 1, 3, 56, 28)}},
    )


def make_siglip():
    from transformers import SiglipVisionConfig, SiglipVisionModel

    config = {
        "model_type": "siglip_vision_model", **SMALL, "image_size": 24, "patch_size": 4, "hidden_act": "gelu_pytorch_tanh",
        "vision_use_head": False,
    }
    outputs(
        "siglip", config,
        lambda: SiglipVisionModel(eager(SiglipVisionConfig, config)),
        lambda model, case: model(**case, interpolate_pos_encoding=True).last_hidden_state,
        {"same": {"pixel_values": images(1, 2, 3, 24, 24)}, "larger": {"pixel_values": images(2, 1, 3, 32, 40)}},
    )


def make_beit():
    from transformers import BeitConfig, BeitModel

    config = {
        "model_type": "beit", **SMALL, "image_size": 24, "patch_size": 4, "use_relative_position_bias": True,
        "layer_scale_init_value": 0.1, "use_mean_pooling": False,
    }
    outputs(
        "beit", config,
        lambda: BeitModel(eager(BeitConfig, config), add_pooling_layer=False),
        lambda model, case: model(**case).last_hidden_state,
        {"same": {"pixel_values": images(1, 2, 3, 24, 24)}, "wide": {"pixel_values": images(2, 1, 3, 28, 40)}},
    )


def make_swin():
    from transformers import SwinConfig, SwinModel

    config = {
        "model_type": "swin", "image_size": 32, "patch_size": 2, "num_channels": 3, "embed_dim": 8, "depths": [2, 2],
        "num_heads": [2, 4], "window_size": 4, "mlp_ratio": 2.0, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
    }
    outputs(
        "swin", config,
        lambda: SwinModel(eager(SwinConfig, config), add_pooling_layer=False),
        lambda model, case: model(**case).last_hidden_state,
        {"same": {"pixel_values": images(1, 2, 3, 32, 32)}, "wide": {"pixel_values": images(2, 1, 3, 20, 28)}},
    )


def make_sam():
    from transformers import SamVisionConfig, SamVisionModel

    config = {
        "model_type": "sam_vision_model", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "mlp_dim": 64,
        "output_channels": 8, "image_size": 32, "patch_size": 4, "num_channels": 3, "window_size": 3, "global_attn_indexes": [1],
        "hidden_act": "gelu", "layer_norm_eps": 1e-6,
    }
    outputs(
        "sam", config,
        lambda: SamVisionModel(eager(SamVisionConfig, config)),
        lambda model, case: model(**case).last_hidden_state,
        {"image": {"pixel_values": images(1, 2, 3, 32, 32)}},
    )


def make_pixtral():
    from transformers import PixtralVisionConfig, PixtralVisionModel

    config = {
        "model_type": "pixtral", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
        "num_channels": 3, "image_size": 64, "patch_size": 4, "hidden_act": "silu", "rope_theta": 10000.0,
    }

    def run(model, case):
        # Images of several sizes are packed.
        sizes = [tuple(size) for size in case["image_sizes"].tolist()]
        return model(case["pixel_values"], image_sizes=sizes).last_hidden_state

    one = {"pixel_values": images(1, 1, 3, 16, 20), "image_sizes": torch.tensor([[16, 20]])}
    packed = {"pixel_values": images(2, 2, 3, 24, 28), "image_sizes": torch.tensor([[24, 16], [12, 28]])}
    outputs(
        "pixtral", config, lambda: PixtralVisionModel(eager(PixtralVisionConfig, config)), run, {"one": one, "packed": packed}
    )


#: Patches of an image, and of an image and a video of two frames: [frames, rows, columns].
QWEN = {
    name: {"pixel_values": images(seed, sum(t * h * w for t, h, w in grids), 24), "grid_thw": torch.tensor(grids)}
    for seed, (name, grids) in enumerate({"image": [[1, 6, 6]], "packed": [[1, 4, 8], [2, 6, 4]]}.items())
}


def make_qwen3_vl_vision():
    from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionConfig, Qwen3VLVisionModel

    config = {
        "model_type": "qwen3_vl", "depth": 2, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32, "patch_size": 2,
        "temporal_patch_size": 2, "spatial_merge_size": 2, "out_hidden_size": 16, "num_position_embeddings": 36,
        "deepstack_visual_indexes": [0], "in_channels": 3, "hidden_act": "gelu_pytorch_tanh",
    }
    outputs(
        "qwen3_vl_vision", config,
        lambda: Qwen3VLVisionModel(eager(Qwen3VLVisionConfig, config)),
        lambda model, case: model(case["pixel_values"], case["grid_thw"]).pooler_output,
        QWEN,
    )


def make_qwen2_vl_vision():
    from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VisionTransformerPretrainedModel, Qwen2VLVisionConfig

    config = {
        "model_type": "qwen2_vl", "depth": 2, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "mlp_ratio": 2, "patch_size": 2,
        "temporal_patch_size": 2, "spatial_merge_size": 2, "in_channels": 3, "hidden_act": "quick_gelu",
    }
    outputs(
        "qwen2_vl_vision", config,
        lambda: Qwen2VisionTransformerPretrainedModel(eager(Qwen2VLVisionConfig, config)),
        lambda model, case: model(case["pixel_values"], case["grid_thw"]).pooler_output,
        QWEN,
    )


def make_whisper():
    from transformers import WhisperConfig, WhisperModel
    from transformers.models.whisper.modeling_whisper import sinusoids

    config = {
        "model_type": "whisper", "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 40, "num_mel_bins": 8,
        "max_source_positions": 20, "max_target_positions": 16, "pad_token_id": 39, "bos_token_id": 38, "eos_token_id": 38,
        "decoder_start_token_id": 37,
    }

    def fix(model):
        model.encoder.embed_positions.weight.copy_(sinusoids(config["max_source_positions"], config["d_model"]))

    tokens = torch.tensor([[37, 3, 17, 4, 9, 22], [37, 30, 1, 1, 5, 12]])
    outputs(
        "whisper", config,
        lambda: WhisperModel(eager(WhisperConfig, config)),
        lambda model, case: model(case["input_features"], decoder_input_ids=case["tokens"]).last_hidden_state,
        {"speech": {"input_features": images(1, 2, 8, 40), "tokens": tokens}},
        fix=fix,
    )


def make_flux():
    from diffusers import FluxTransformer2DModel

    config = {
        "patch_size": 1, "in_channels": 4, "num_layers": 1, "num_single_layers": 1, "attention_head_dim": 12,
        "num_attention_heads": 2, "joint_attention_dim": 8, "pooled_projection_dim": 8, "guidance_embeds": False,
        "axes_dims_rope": [4, 4, 4],
    }

    def call(seed, height, width, batch):
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        return {
            "hidden_states": images(seed, batch, height * width, 4), "encoder_hidden_states": images(seed + 10, batch, 5, 8),
            "pooled_projections": images(seed + 20, batch, 8), "timestep": torch.tensor([0.875, 0.2][:batch]),
            "img_ids": torch.stack([torch.zeros_like(rows), rows, columns], -1).reshape(-1, 3).float(), "txt_ids": torch.zeros(5, 3),
        }

    outputs(
        "flux", config, lambda: FluxTransformer2DModel(**config), lambda model, case: model(**case).sample,
        {"square": call(1, 4, 4, 2), "wide": call(2, 3, 7, 1)}, stored=Plain,
    )


def make_stable_diffusion():
    from diffusers.models.embeddings import TimestepEmbedding, Timesteps

    class Time(torch.nn.Module):
        """The timestep block of UNet2DConditionModel, with its names."""

        def __init__(self):
            super().__init__()
            self.time_proj = Timesteps(32, flip_sin_to_cos=True, downscale_freq_shift=0)
            self.time_embedding = TimestepEmbedding(32, 64)

        def forward(self, timestep):
            return self.time_embedding(self.time_proj(timestep))

    outputs(
        "stable_diffusion", {"block_out_channels": [32], "flip_sin_to_cos": True, "freq_shift": 0}, Time,
        lambda model, case: model(case["timestep"]),
        {"integers": {"timestep": torch.tensor([999, 500, 1, 0])}, "fractions": {"timestep": torch.tensor([0.5, 812.25])}},
        stored=Plain,
    )


if __name__ == "__main__":
    for name in sys.argv[1:] or [name[5:] for name in list(globals()) if name.startswith("make_")]:
        globals()[f"make_{name}"]()
