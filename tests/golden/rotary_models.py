"""Rotary settings of released models, as their config.json states them: name, keys, sequence lengths.

Only the keys that bear on rotary embeddings (and the widths) are kept. The LongRoPE lists are those of
Phi-3.5-mini-instruct, MiniCPM4-8B and MiniCPM-2B.
"""

PHI35_LONG = [
    1.0800000429153442, 1.1100000143051147, 1.1399999856948853, 1.340000033378601, 1.5899999141693115,
    1.600000023841858, 1.6200000047683716, 2.620000123977661, 3.2300000190734863, 3.2300000190734863,
    4.789999961853027, 7.400000095367432, 7.700000286102295, 9.09000015258789, 12.199999809265137,
    17.670000076293945, 24.46000099182129, 28.57000160217285, 30.420001983642578, 30.840002059936523,
    32.590003967285156, 32.93000411987305, 42.320003509521484, 44.96000289916992, 50.340003967285156,
    50.45000457763672, 57.55000305175781, 57.93000411987305, 58.21000289916992, 60.1400032043457,
    62.61000442504883, 62.62000274658203, 62.71000289916992, 63.1400032043457, 63.1400032043457,
    63.77000427246094, 63.93000411987305, 63.96000289916992, 63.970001220703125, 64.02999877929688,
    64.06999969482422, 64.08000183105469, 64.12000274658203, 64.41000366210938, 64.4800033569336,
    64.51000213623047, 64.52999877929688, 64.83999633789062,
]
PHI35_SHORT = [
    1.0, 1.0199999809265137, 1.0299999713897705, 1.0299999713897705, 1.0499999523162842, 1.0499999523162842,
    1.0499999523162842, 1.0499999523162842, 1.0499999523162842, 1.0699999332427979, 1.0999999046325684,
    1.1099998950958252, 1.1599998474121094, 1.1599998474121094, 1.1699998378753662, 1.2899998426437378,
    1.339999794960022, 1.679999828338623, 1.7899998426437378, 1.8199998140335083, 1.8499997854232788,
    1.8799997568130493, 1.9099997282028198, 1.9399996995925903, 1.9899996519088745, 2.0199997425079346,
    2.0199997425079346, 2.0199997425079346, 2.0199997425079346, 2.0199997425079346, 2.0199997425079346,
    2.0299997329711914, 2.0299997329711914, 2.0299997329711914, 2.0299997329711914, 2.0299997329711914,
    2.0299997329711914, 2.0299997329711914, 2.0299997329711914, 2.0299997329711914, 2.0799996852874756,
    2.0899996757507324, 2.189999580383301, 2.2199995517730713, 2.5899994373321533, 2.729999542236328,
    2.749999523162842, 2.8399994373321533,
]
MINICPM4 = [
    0.9977997200264581, 1.014658295992452, 1.0349680404997148, 1.059429246056193, 1.0888815016813513,
    1.1243301355211495, 1.166977103606075, 1.2182568066927284, 1.2798772354275727, 1.3538666751582975,
    1.4426259039919596, 1.5489853358570191, 1.6762658237220625, 1.8283407612492941, 2.0096956085876183,
    2.225478927469756, 2.481536379650452, 2.784415934557119, 3.1413289096347365, 3.560047844772632,
    4.048719380066383, 4.615569542115128, 5.2684819496549835, 6.014438591970396, 6.858830049237097,
    7.804668263503327, 8.851768731513417, 9.99600492938444, 11.228766118181639, 12.536757560834843,
    13.902257701387796, 15.303885189125953, 16.717837610115794, 18.119465097853947, 19.484965238406907,
    20.792956681060105, 22.02571786985731, 23.16995406772833, 24.217054535738416, 25.16289275000465,
    26.007284207271347, 26.753240849586767, 27.40615325712662, 27.973003419175363, 28.461674954469114,
    28.880393889607006, 29.237306864684626, 29.540186419591297, 29.79624387177199, 30.01202719065413,
    30.193382037992453, 30.34545697551969, 30.47273746338473, 30.579096895249787, 30.66785612408345,
    30.741845563814174, 30.80346599254902, 30.85474569563567, 30.897392663720595, 30.932841297560394,
    30.962293553185553, 30.986754758742034, 31.007064503249293, 31.02392307921529,
]
MINICPM2B = [
    1.0004360675811768, 1.0668443441390991, 1.1631425619125366, 1.3025742769241333, 1.5040205717086792,
    1.7941505908966064, 2.2101221084594727, 2.802666664123535, 3.6389970779418945, 4.804192543029785,
    6.39855432510376, 8.527148246765137, 11.277542114257812, 14.684998512268066, 18.69317054748535,
    23.13019371032715, 27.72362518310547, 32.1606559753418, 36.168827056884766, 39.57627868652344,
    42.32667541503906, 44.45526885986328, 46.04962921142578, 47.21482849121094, 48.05115509033203,
    48.64370346069336, 49.05967712402344, 49.34980392456055, 49.551246643066406, 49.69068145751953,
    49.78697967529297, 49.85338592529297,
]


def model(model_type, hidden, heads, longest, **more):
    return {"model_type": model_type, "hidden_size": hidden, "num_attention_heads": heads,
            "max_position_embeddings": longest, **more}


def llama3(factor, low=1.0, high=4.0):
    return {"factor": factor, "low_freq_factor": low, "high_freq_factor": high,
            "original_max_position_embeddings": 8192, "rope_type": "llama3"}


def qwen_yarn(key):
    return {"factor": 4.0, "original_max_position_embeddings": 32768, key: "yarn"}


def deepseek_yarn(factor, mscale):
    return {"beta_fast": 32, "beta_slow": 1, "factor": factor, "mscale": mscale, "mscale_all_dim": mscale,
            "original_max_position_embeddings": 4096, "type": "yarn"}


NONE = [None]
MODELS = [
    # Llama and its family
    ("Llama-2-7b", model("llama", 4096, 32, 4096, rope_scaling=None), NONE),
    ("Llama-2-70b", model("llama", 8192, 64, 4096, rope_scaling=None), NONE),
    ("vicuna-13b-v1.5-16k", model("llama", 5120, 40, 4096, rope_scaling={"factor": 4.0, "type": "linear"}), NONE),
    ("Llama-2-7b dynamic", model("llama", 4096, 32, 4096, rope_scaling={"factor": 2.0, "type": "dynamic"}),
     [None, 4096, 4097, 5000, 8192, 131072]),
    ("CodeLlama-7b", model("llama", 4096, 32, 16384, rope_theta=1000000, rope_scaling=None), NONE),
    ("Meta-Llama-3-8B", model("llama", 4096, 32, 8192, rope_theta=500000.0, rope_scaling=None), NONE),
    ("Llama-3.1-8B", model("llama", 4096, 32, 131072, rope_theta=500000.0, rope_scaling=llama3(8.0)), NONE),
    ("Llama-3.1-405B", model("llama", 16384, 128, 131072, rope_theta=500000.0, rope_scaling=llama3(8.0)), NONE),
    ("Llama-3.2-1B", model("llama", 2048, 32, 131072, head_dim=64, rope_theta=500000.0,
                           rope_scaling=llama3(32.0)), NONE),
    ("Llama-3.2-3B", model("llama", 3072, 24, 131072, head_dim=128, rope_theta=500000.0,
                           rope_scaling=llama3(32.0)), NONE),
    ("Llama-4-Scout-17B-16E", {"model_type": "llama4", "text_config": model(
        "llama4_text", 5120, 40, 10485760, head_dim=128, rope_theta=500000.0,
        rope_scaling=llama3(16.0, 1.0, 1.0))}, NONE),
    ("Llama-4-Maverick-17B-128E", {"model_type": "llama4", "text_config": model(
        "llama4_text", 5120, 40, 1048576, head_dim=128, rope_theta=500000.0, rope_scaling=None)}, NONE),
    ("Yi-6B", model("llama", 4096, 32, 4096, rope_theta=5000000.0, rope_scaling=None), NONE),
    ("Yi-34B-200K", model("llama", 7168, 56, 200000, rope_theta=10000000.0, rope_scaling=None), NONE),
    ("Yarn-Llama-2-7b-64k", model("llama", 4096, 32, 65536, rope_scaling={
        "factor": 16.0, "original_max_position_embeddings": 4096, "type": "yarn"}), NONE),
    ("Yarn-Llama-2-7b-128k", model("llama", 4096, 32, 131072, rope_scaling={
        "factor": 32.0, "original_max_position_embeddings": 4096, "type": "yarn"}), NONE),
    ("SmolLM2-1.7B", model("llama", 2048, 32, 8192, rope_theta=130000, rope_scaling=None), NONE),
    ("SmolLM3-3B", model("smollm3", 2048, 16, 65536, rope_theta=5000000.0, rope_scaling=None), NONE),
    ("deepseek-llm-7b", model("llama", 4096, 32, 4096, rope_scaling=None), NONE),
    ("deepseek-coder-6.7b", model("llama", 4096, 32, 16384, rope_theta=100000,
                                  rope_scaling={"factor": 4.0, "type": "linear"}), NONE),
    # Mistral
    ("Mistral-7B-v0.1", model("mistral", 4096, 32, 32768, rope_theta=10000.0), NONE),
    ("Mistral-7B-v0.3", model("mistral", 4096, 32, 32768, rope_theta=1000000.0), NONE),
    ("Mistral-Nemo-Instruct-2407", model("mistral", 5120, 32, 1024000, head_dim=128, rope_theta=1000000.0), NONE),
    ("Mistral-Small-24B-2501", model("mistral", 5120, 32, 32768, head_dim=128, rope_theta=100000000.0), NONE),
    ("Yarn-Mistral-7b-128k", model("mistral", 4096, 32, 32768, rope_theta=10000.0, rope_scaling={
        "factor": 16.0, "original_max_position_embeddings": 8192, "type": "yarn"}), NONE),
    ("Mixtral-8x7B", model("mixtral", 4096, 32, 32768, rope_theta=1000000.0), NONE),
    ("Mixtral-8x22B", model("mixtral", 6144, 48, 65536, rope_theta=1000000), NONE),
    ("Ministral-3-3B-2512", {"model_type": "ministral3", "hidden_size": 3072, "num_attention_heads": 32,
                             "head_dim": 128, "max_position_embeddings": 262144, "rope_parameters": {
                                 "beta_fast": 32.0, "beta_slow": 1.0, "factor": 16.0, "llama_4_scaling_beta": 0.1,
                                 "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 16384,
                                 "rope_theta": 1000000.0, "rope_type": "yarn", "type": "yarn"}}, NONE),
    # Qwen
    ("Qwen2-0.5B", model("qwen2", 896, 14, 131072, rope_theta=1000000.0), NONE),
    ("Qwen2-7B", model("qwen2", 3584, 28, 131072, rope_theta=1000000.0), NONE),
    ("Qwen2.5-7B-Instruct with yarn", model("qwen2", 3584, 28, 32768, rope_theta=1000000.0,
                                            rope_scaling=qwen_yarn("type")), NONE),
    ("Qwen2.5-7B-Instruct-1M", model("qwen2", 3584, 28, 1010000, rope_theta=10000000.0), NONE),
    ("Qwen3-0.6B", model("qwen3", 1024, 16, 40960, head_dim=128, rope_theta=1000000, rope_scaling=None), NONE),
    ("Qwen3-8B", model("qwen3", 4096, 32, 40960, head_dim=128, rope_theta=1000000, rope_scaling=None), NONE),
    ("Qwen3-8B with yarn", model("qwen3", 4096, 32, 40960, head_dim=128, rope_theta=1000000,
                                 rope_scaling=qwen_yarn("rope_type")), NONE),
    ("Qwen3-30B-A3B-Instruct-2507", model("qwen3_moe", 2048, 32, 262144, head_dim=128, rope_theta=10000000,
                                          rope_scaling=None), NONE),
    ("Qwen3-Next-80B-A3B", model("qwen3_next", 2048, 16, 262144, head_dim=256, rope_theta=10000000,
                                 partial_rotary_factor=0.25, rope_scaling=None), NONE),
    ("Qwen2-VL-7B-Instruct", model("qwen2_vl", 3584, 28, 32768, rope_theta=1000000.0, rope_scaling={
        "type": "mrope", "mrope_section": [16, 24, 24]}), NONE),
    ("Qwen2.5-VL-7B-Instruct", model("qwen2_5_vl", 3584, 28, 128000, rope_theta=1000000.0, rope_scaling={
        "type": "mrope", "mrope_section": [16, 24, 24]}), NONE),
    ("Qwen3-VL-8B-Instruct", {"model_type": "qwen3_vl", "text_config": model(
        "qwen3_vl_text", 4096, 32, 262144, head_dim=128, rope_theta=5000000, rope_scaling={
            "mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"})}, NONE),
    # Gemma
    ("gemma-2b", model("gemma", 2048, 8, 8192, head_dim=256, rope_theta=10000.0, rope_scaling=None), NONE),
    ("gemma-2-27b", model("gemma2", 4608, 32, 8192, head_dim=128, rope_theta=10000.0), NONE),
    ("gemma-3-1b-it", model("gemma3_text", 1152, 4, 32768, head_dim=256, rope_theta=1000000,
                            rope_local_base_freq=10000, rope_scaling=None, sliding_window_pattern=6), NONE),
    ("gemma-3-27b-it", {"model_type": "gemma3", "text_config": {
        "model_type": "gemma3_text", "hidden_size": 5376, "num_attention_heads": 32, "head_dim": 128,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}}, NONE),
    ("gemma-3n-E4B", {"model_type": "gemma3n", "text_config": model(
        "gemma3n_text", 2048, 8, 32768, head_dim=256, rope_theta=1000000.0, rope_local_base_freq=10000.0,
        rope_scaling=None)}, NONE),
    ("gemma-4 text", model("gemma4_text", 2560, 8, 131072, head_dim=256, global_head_dim=512, rope_parameters={
        "full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
        "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}), NONE),
    # Phi
    ("phi-1_5", model("phi", 2048, 32, 2048, partial_rotary_factor=0.5, rope_theta=10000.0, rope_scaling=None), NONE),
    ("phi-2", model("phi", 2560, 32, 2048, partial_rotary_factor=0.4, rope_theta=10000.0, rope_scaling=None), NONE),
    ("Phi-3-mini-4k-instruct", model("phi3", 3072, 32, 4096, original_max_position_embeddings=4096,
                                     rope_theta=10000.0, rope_scaling=None), NONE),
    ("Phi-3.5-mini-instruct", model("phi3", 3072, 32, 131072, original_max_position_embeddings=4096,
                                    rope_theta=10000.0, rope_scaling={
                                        "long_factor": PHI35_LONG, "short_factor": PHI35_SHORT, "type": "longrope"}),
     [None, 1, 4096, 4097, 131072]),
    ("Phi-4", model("phi3", 5120, 40, 16384, original_max_position_embeddings=16384, rope_theta=250000,
                    rope_scaling=None), NONE),
    ("Phi-4-mini layout", model("phi3", 3072, 24, 131072, original_max_position_embeddings=4096,
                                partial_rotary_factor=0.75, rope_theta=10000.0, rope_scaling={
                                    "long_factor": PHI35_LONG, "short_factor": [1.0] * 48, "type": "longrope"}),
     [None, 4097]),
    ("MiniCPM4-8B", model("llama", 4096, 32, 32768, rope_theta=10000.0, rope_scaling={
        "rope_type": "longrope", "long_factor": MINICPM4, "short_factor": MINICPM4,
        "original_max_position_embeddings": 32768}), [None, 40000]),
    ("MiniCPM-2B longrope", model("llama", 1536, 24, 32768, rope_scaling={
        "rope_type": "longrope", "long_factor": MINICPM2B, "short_factor": MINICPM2B,
        "original_max_position_embeddings": 32768}), NONE),
    # DeepSeek, Kimi
    ("DeepSeek-V2", model("deepseek_v2", 5120, 128, 163840, qk_nope_head_dim=128, qk_rope_head_dim=64,
                          v_head_dim=128, rope_theta=10000, rope_scaling=deepseek_yarn(40, 0.707)), NONE),
    ("DeepSeek-V3", model("deepseek_v3", 7168, 128, 163840, qk_nope_head_dim=128, qk_rope_head_dim=64,
                          v_head_dim=128, rope_theta=10000, rope_scaling=deepseek_yarn(40, 1.0)), NONE),
    ("Kimi-K2 as deepseek_v3", model("deepseek_v3", 7168, 64, 131072, qk_nope_head_dim=128, qk_rope_head_dim=64,
                                     v_head_dim=128, rope_theta=50000.0, rope_scaling={
                                         "beta_fast": 1.0, "beta_slow": 1.0, "factor": 32.0, "mscale": 1.0,
                                         "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096,
                                         "type": "yarn"}), NONE),
    # others
    ("gpt-oss-20b", model("gpt_oss", 2880, 64, 131072, head_dim=64, rope_theta=150000, rope_scaling={
        "beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096,
        "rope_type": "yarn", "truncate": False}), NONE),
    ("falcon-7b", model("falcon", 4544, 71, 2048, rope_theta=10000.0), NONE),
    ("falcon-11B", model("falcon", 4096, 32, 8192, rope_theta=500042), NONE),
    ("gpt-neox-20b", model("gpt_neox", 6144, 64, 2048, rotary_pct=0.25, rotary_emb_base=10000), NONE),
    ("pythia-160m", model("gpt_neox", 768, 12, 2048, rotary_pct=0.25, rotary_emb_base=10000), NONE),
    ("stablelm-2-1_6b", model("stablelm", 2048, 32, 4096, partial_rotary_factor=0.25, rope_theta=10000), NONE),
    ("OLMo-2-1124-7B", model("olmo2", 4096, 32, 4096, rope_theta=500000, rope_scaling=None), NONE),
    ("Olmo-3-7B", model("olmo3", 4096, 32, 65536, rope_theta=500000, rope_scaling={
        "attention_factor": 1.2079441541679836, "beta_fast": 32.0, "beta_slow": 1.0, "factor": 8.0,
        "original_max_position_embeddings": 8192, "rope_type": "yarn"}), NONE),
    ("c4ai-command-r-v01", model("cohere", 8192, 64, 8192, rope_theta=8000000.0), NONE),
    ("c4ai-command-r7b-12-2024", model("cohere2", 4096, 32, 8192, rope_theta=50000), NONE),
    ("granite-3.0-8b", model("granite", 4096, 32, 4096, rope_theta=10000.0, rope_scaling=None), NONE),
    ("granite-3.1-8b", model("granite", 4096, 32, 131072, rope_theta=10000000.0, rope_scaling=None), NONE),
    ("glm-4-9b-chat-hf", model("glm", 4096, 32, 131072, head_dim=128, partial_rotary_factor=0.5,
                               rope_theta=10000.0), NONE),
    ("GLM-4-9B-0414", model("glm4", 4096, 32, 32768, head_dim=128, partial_rotary_factor=0.5,
                            rope_theta=10000.0), NONE),
    ("Minitron-8B nemotron", model("nemotron", 4096, 48, 4096, head_dim=128, partial_rotary_factor=0.5,
                                   rope_theta=10000), NONE),
    ("ModernBERT-base", model("modernbert", 768, 12, 8192, global_rope_theta=160000.0, local_rope_theta=10000.0,
                              global_attn_every_n_layers=3), NONE),
    ("starcoder2-7b", model("starcoder2", 4608, 36, 16384, rope_theta=1000000), NONE),
    ("persimmon-8b", model("persimmon", 4096, 64, 16384, partial_rotary_factor=0.5, rope_theta=25000.0), NONE),
    ("MiniMax-M2", model("minimax_m2", 3072, 48, 196608, head_dim=128, rotary_dim=64, rope_theta=5000000), NONE),
    ("Apertus-8B", model("apertus", 4096, 32, 65536, rope_theta=12000000, rope_scaling=llama3(8.0)), NONE),
]
