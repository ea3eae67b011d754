// Compares each instruction set of the native core with the portable one, without Python: for
// machines that are only emulated. Prints a line a set; exits with 1 where they differ.
//
//   aarch64-linux-gnu-g++ -std=c++17 -O2 -static -pthread -Iengine/kernels/native
//       tests/native/agreement.cpp engine/kernels/native/*.cpp -o agreement
//   qemu-aarch64 -cpu max ./agreement
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core.h"

namespace {

std::mt19937 generator(7);

float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(generator); }
int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator); }

std::vector<float> floats(size_t count, float size) {
    std::vector<float> values(count);
    for (auto& value : values) value = uniform(-size, size);
    return values;
}

// Positive half-precision numbers between 2^-7 and 2^-6: a scale, and -8 times as much.
uint16_t small_half() { return static_cast<uint16_t>((8 << 10) | whole(0, 1023)); }

struct Matrix {
    Matrix(int32_t kind, int64_t rows, int64_t columns) {
        const auto groups = static_cast<size_t>(rows * columns / 32);
        std::vector<uint8_t> quants(groups * 32);
        const bool is_four_bit = kind == TT_INT4 || kind == TT_INT4_EVEN;
        for (auto& quant : quants) quant = static_cast<uint8_t>(is_four_bit ? whole(0, 15) : whole(0, 255));
        std::vector<uint16_t> scales(groups), offsets(groups);
        for (size_t i = 0; i < groups; ++i) {
            scales[i] = small_half();
            offsets[i] = static_cast<uint16_t>((small_half() + (3 << 10)) | 0x8000);
        }
        std::vector<float> row_scales(static_cast<size_t>(rows), 0.004f);
        const auto size = static_cast<size_t>(tt_packed_bytes(kind, rows, columns));
        memory.resize(size + 64);
        const auto at = (reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64;
        auto* data = reinterpret_cast<uint8_t*>(at);
        tt_pack(kind, rows, columns, quants.data(), kind == TT_INT8_ROWS ? nullptr : scales.data(),
                kind == TT_INT4 ? offsets.data() : nullptr, row_scales.data(), data);
        matrix = {rows, columns, data, is_four_bit ? 0.5f : 0.05f, kind};
    }
    std::vector<uint8_t> memory;
    tt_matrix matrix;
};

double difference(const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0.0, size = 1e-9;
    for (size_t i = 0; i < a.size(); ++i) {
        most = std::max(most, std::isfinite(a[i]) ? std::fabs(double{a[i]} - b[i]) : 1e30);
        size = std::max(size, std::fabs(double{b[i]}));
    }
    return most / size;
}

double compare_products(tt_team* team, tt_team* slow) {
    double most = 0.0;
    for (int32_t kind = TT_INT4; kind <= TT_INT4_EVEN; ++kind) {
        const Matrix w(kind, 70, 96);
        for (const int64_t rows : {1, 2, 3, 4, 5, 17, 70}) {
            const auto x = floats(static_cast<size_t>(rows) * 96, 3.0f);
            std::vector<float> fast(static_cast<size_t>(rows) * 70), plain(fast.size());
            tt_multiply(team, 2, &w.matrix, x.data(), rows, fast.data());
            tt_multiply(slow, 1, &w.matrix, x.data(), rows, plain.data());
            most = std::max(most, difference(fast, plain));
        }
    }
    return most;
}

// A prompt and two steps of one layer, whose cache is of `kv_type`; returns all logits.
std::vector<float> run_layer(tt_team* team, const tt_model& model, int32_t kv_type) {
    constexpr int64_t kSlots = 128, kPrompt = 75;
    const int64_t planes = 2 * model.num_kv_heads;
    std::vector<uint8_t> pool(static_cast<size_t>(planes * kSlots * model.head_dim * 4) + 64);
    std::vector<uint16_t> parameters(static_cast<size_t>(planes * kSlots * 8));
    std::vector<float> cosines(kSlots * 16), sines(kSlots * 16);
    for (size_t i = 0; i < cosines.size(); ++i) {
        cosines[i] = std::cos(static_cast<float>(i / 16) / static_cast<float>(1 + i % 16));
        sines[i] = std::sin(static_cast<float>(i / 16) / static_cast<float>(1 + i % 16));
    }
    const tt_rotation rotation{cosines.data(), sines.data(), 16};
    const int64_t blocks[] = {3, 1, 7, 0, 4, 2};
    const int32_t kinds[] = {0}, places[] = {0};
    generator.seed(11);
    const auto embedded = floats(static_cast<size_t>((kPrompt + 2) * model.hidden), 1.0f);
    tt_step* step = tt_step_new(&model);
    std::vector<float> all;
    for (int64_t start = 0; start < kPrompt + 2;) {
        const int64_t length = start == 0 ? kPrompt : 1;
        std::vector<int64_t> positions, slots, rows;
        for (int64_t i = 0; i < length; ++i) {
            positions.push_back(start + i);
            slots.push_back(blocks[(start + i) / 16] * 16 + (start + i) % 16);
            rows.push_back(i);
        }
        const tt_segment segment{0, length, start, 0};
        tt_cache cache{};
        cache.pool = pool.data();
        cache.parameters = parameters.data();
        cache.segments = &segment;
        cache.slots = slots.data();
        cache.num_slots = kSlots;
        std::vector<float> logits(static_cast<size_t>(length * model.head->rows));
        tt_batch batch{};
        batch.embedded = embedded.data() + start * model.hidden;
        batch.positions = positions.data();
        batch.logit_rows = rows.data();
        batch.blocks = blocks;
        batch.rotations = &rotation;
        batch.caches = &cache;
        batch.kinds = kinds;
        batch.places = places;
        batch.logits = logits.data();
        batch.rows = batch.num_logits = length;
        batch.num_segments = 1;
        batch.block_size = 16;
        batch.kv_type = kv_type;
        tt_step_run(step, team, 2, &batch, 0, 1);
        all.insert(all.end(), logits.begin(), logits.end());
        start += length;
    }
    tt_step_free(step);
    return all;
}

double compare_layers(tt_team* team, tt_team* slow) {
    const Matrix qkv(TT_INT4, 128, 64), o(TT_INT8_GROUPED, 64, 64), gate_up(TT_INT4_EVEN, 192, 64);
    const Matrix down(TT_INT8_ROWS, 64, 96), head(TT_INT8_GROUPED, 50, 64);
    const std::vector<float> norm(64, 1.0f), ones(96, 1.0f);
    tt_layer layer{};
    layer.qkv = &qkv.matrix;
    layer.o = &o.matrix;
    layer.gate_up = &gate_up.matrix;
    layer.down = &down.matrix;
    layer.attention_norm = layer.ffn_norm = norm.data();
    layer.qk_norm = ones.data();
    layer.window = 60;
    const tt_model model{&layer, &head.matrix, norm.data(), 64, 96, 1, 2, 1, 32, 16, TT_SILU, 1e-5f, 0.2f, 1.0f, 0.0f};
    double most = 0.0;
    for (int32_t kv_type = TT_KV_FP32; kv_type <= TT_KV_INT4; ++kv_type) {
        const auto fast = run_layer(team, model, kv_type), plain = run_layer(slow, model, kv_type);
        // a value that lies halfway between two codes may be rounded to either
        const double allowance = kv_type >= TT_KV_INT8 ? 0.1 : 1.0;
        most = std::max(most, allowance * difference(fast, plain));
    }
    return most;
}

}  // namespace

int main() {
    std::istringstream names(tt_instruction_sets());
    bool agrees = true;
    for (std::string name; names >> name;) {
        tt_team* team = tt_team_new(name.c_str(), 2);
        tt_team* slow = tt_team_new("portable", 1);
        const double products = compare_products(team, slow), layers = compare_layers(team, slow);
        const bool is_near = products < 1e-5 && layers < 1e-2;
        std::printf("%-12s products %.1e, layers %.1e: %s\n", name.c_str(), products, layers, is_near ? "agree" : "DIFFER");
        agrees = agrees && is_near;
        tt_team_free(team);
        tt_team_free(slow);
    }
    return agrees ? 0 : 1;
}
