// The layers of one forward pass as each thread runs them, for any instruction set V.
//
// Threads share the rows of weights and meet at barriers:
//
//   norm, qkv, rotation, append | attention | o | norm, gate, up | down |
//
// The residual stream is read from one buffer and written to another, so that every thread may
// add what is pending for itself where the rows are few.
#pragma once
#include "attention.h"
#include "int8_attention.h"
#include "product.h"

namespace tt {

template <class V>
class StepThread {
    using F = typename V::F;

  public:
    StepThread(StepState& state, const Member& member)
        : s_(state), m_(*state.model), member_(member), row_(state.own_row[member.index]),
          laps_(member.index == 0 ? state.batch->part_ns : nullptr) {
        current_ = state.current;
        pending_ = state.has_pending;
    }

    void run() {
        for (int layer = s_.first_layer; layer < s_.end_layer; ++layer) {
            run_layer(layer, m_.layers[layer]);
        }
        if (s_.end_layer == m_.num_layers && s_.batch->num_logits > 0) run_head();
        if (member_.index == 0) {
            s_.current = current_;
            s_.has_pending = pending_;
        }
    }

  private:
    void run_layer(int index, const tt_layer& layer) {
        const float* post = index > 0 ? m_.layers[index - 1].post_ffn_norm : nullptr;
        const Activations x = prepare(post, layer.attention_norm);
        laps_.lap(index, TT_PART_NORM);
        project(index, layer, x);
        meet(index, TT_PART_QKV);
        attend(index);
        meet(index, TT_PART_ATTENTION);
        multiply_share<V>(*layer.o, prepare_mixed(), s_.y, m_.hidden, member_);
        pending_ = true;
        meet(index, TT_PART_OUTPUT);
        const Activations y = prepare(layer.post_attention_norm, layer.ffn_norm);
        laps_.lap(index, TT_PART_NORM);
        gate(layer, y);
        member_.barrier();
        multiply_share<V>(*layer.down, s_.gated_quants, s_.y, m_.hidden, member_);
        pending_ = true;
        meet(index, TT_PART_FFN);
    }

    // All members are done with `part`.
    void meet(int layer, tt_part part) {
        member_.barrier();
        laps_.lap(layer, part);
    }

    // ------------------------------------------------------------------ rows
    bool is_few() const { return s_.rows <= kFewRows; }

    // Quantised rows of `columns`; fill(m, to) makes row m. All rows are there when it returns.
    template <class Fill>
    Activations prepare_rows(int64_t columns, const Fill& fill) {
        Activations to = s_.shared;
        if (is_few()) {
            to = activations_at(s_.own_activations[member_.index], s_.rows, columns);
            for (int64_t m = 0; m < s_.rows; ++m) fill(m, to, member_.index == 0);
            return to;
        }
        to = activations_at(s_.shared.quants, s_.rows, columns);
        const auto [lo, hi] = member_.share(s_.rows);
        for (int64_t m = lo; m < hi; ++m) fill(m, to, true);
        member_.barrier();
        return to;
    }

    // Add what is pending to the stream, normed by `post`, and quantise the stream normed by `norm`.
    Activations prepare(const float* post, const float* norm) {
        const float* from = s_.x[current_];
        float* next = s_.x[1 - current_];
        const bool adds = pending_;
        const auto fill = [&](int64_t m, const Activations& to, bool writes) {
            const float* row = from + m * m_.hidden;
            if (adds) {
                add_row(row, s_.y + m * m_.hidden, post);
                row = row_;
                if (writes) std::copy_n(row, m_.hidden, next + m * m_.hidden);
            }
            quantize_normed(to, m, row, norm);
        };
        const Activations result = prepare_rows(m_.hidden, fill);
        if (adds) current_ = 1 - current_;
        pending_ = false;
        return result;
    }

    // row_ = x + residual_scale * y, y normed by `post` if that is there.
    void add_row(const float* x, const float* y, const float* post) {
        const F scale = V::set1(m_.residual_scale * (post ? inverse_rms(y, m_.hidden) : 1.0f));
        for (int64_t k = 0; k < m_.hidden; k += 16) {
            F value = V::load(y + k);
            if (post) value = V::mul(value, V::load(post + k));
            V::store(row_ + k, V::fma(value, scale, V::load(x + k)));
        }
    }

    void quantize_normed(const Activations& to, int64_t m, const float* row, const float* norm) {
        const F scale = V::set1(norm ? inverse_rms(row, m_.hidden) : 1.0f);
        quantize_groups<V>(to, m, 0, m_.hidden / kGroup, [&](int64_t k) {
            const F value = V::mul(V::load(row + k), scale);
            return norm ? V::mul(value, V::load(norm + k)) : value;
        });
    }

    float inverse_rms(const float* row, int64_t size) const {
        F squares = V::zero();
        for (int64_t k = 0; k < size; k += 16) squares = V::fma(V::load(row + k), V::load(row + k), squares);
        return 1.0f / std::sqrt(V::hsum(squares) / static_cast<float>(size) + m_.norm_eps);
    }

    Activations prepare_mixed() {
        return prepare_rows(s_.mixed_width, [&](int64_t m, const Activations& to, bool) {
            const float* row = s_.mixed + m * s_.mixed_width;
            if (s_.row_partial[m] >= 0) {
                const int parts = s_.row_parts[m];
                const float* from = s_.partials + s_.row_partial[m] * (m_.head_dim + 16);
                for (int head = 0; head < m_.num_heads; ++head) {
                    float* to = row_ + head * m_.head_dim;
                    join_parts<V>(from, parts, m_.head_dim, to);
                    if (is_quantised(s_.batch->kv_type)) rotate<V>(s_, to);
                    from += parts * (m_.head_dim + 16);
                }
                row = row_;
            }
            quantize_groups<V>(to, m, 0, s_.mixed_width / kGroup,
                               [&](int64_t k) { return V::load(row + k); });
        });
    }

    // ------------------------------------------------------------------ attention
    // This member's heads of q, k and v: product, bias, norm, rotation; k and v go to the cache.
    void project(int index, const tt_layer& layer, const Activations& x) {
        const int blocks = m_.head_dim / kRows;
        const auto [lo, hi] = member_.share(m_.num_heads + 2 * m_.num_kv_heads);
        for (int64_t head = lo; head < hi; ++head) {
            const int64_t first = head * blocks;
            const auto pair = [&](int64_t i) {
                const int64_t b = first + 2 * i;
                return std::pair<int64_t, int64_t>(b, 2 * i + 1 < blocks ? b + 1 : -1);
            };
            float* const to_head = s_.qkv + first * kRows;
            const auto expect = [&](int64_t i, int64_t m, int count) {
                bring_rows(to_head + m * s_.qkv_width + 32 * i, s_.qkv_width, 128, count);
            };
            multiply<V>(*layer.qkv, x, 0, (blocks + 1) / 2, pair, expect,
                        [&](int64_t i, int64_t m, int count, const float* out) {
                            const int width = 2 * i + 1 < blocks ? 32 : 16;
                            float* to = to_head + 32 * i;
                            for (int r = 0; r < count; ++r) {
                                std::copy_n(out + 32 * r, width, to + (m + r) * s_.qkv_width);
                            }
                        });
            laps_.lap(index, TT_PART_QKV);
            for (int64_t m = 0; m < s_.rows; ++m) finish_head(index, layer, m, static_cast<int>(head));
            laps_.lap(index, TT_PART_ROTARY);
        }
    }

    void finish_head(int index, const tt_layer& layer, int64_t m, int head) {
        float* row = s_.qkv + m * s_.qkv_width + head * m_.head_dim;
        if (layer.qkv_bias) {
            const float* bias = layer.qkv_bias + head * m_.head_dim;
            for (int d = 0; d < m_.head_dim; d += 16) V::store(row + d, V::add(V::load(row + d), V::load(bias + d)));
        }
        if (head < m_.num_heads + m_.num_kv_heads) {
            if (layer.qk_norm) {
                const F scale = V::set1(inverse_rms(row, m_.head_dim));
                const float* norm = layer.qk_norm + head * m_.head_dim;
                for (int d = 0; d < m_.head_dim; d += 16) {
                    V::store(row + d, V::mul(V::mul(V::load(row + d), scale), V::load(norm + d)));
                }
            }
            turn(layer, m, row);
        }
        if (is_quantised(s_.batch->kv_type)) {
            const bool is_key = head >= m_.num_heads;
            const int kv_head = is_key ? head - m_.num_heads : head / (m_.num_heads / m_.num_kv_heads);
            if (kv_head < m_.num_kv_heads) balance<V>(s_, index, is_key, kv_head, row);
            rotate<V>(s_, row);
        }
        if (head < m_.num_heads) {
            const F scale = V::set1(m_.attention_scale);
            for (int d = 0; d < m_.head_dim; d += 16) V::store(row + d, V::mul(V::load(row + d), scale));
        } else {
            const bool is_value = head >= m_.num_heads + m_.num_kv_heads;
            const int first = m_.num_heads + (is_value ? m_.num_kv_heads : 0);
            append<V>(s_, index, is_value, head - first, cache_of(s_, index).slots[m], row);
        }
    }

    // The rotary embedding of a token's position.
    void turn(const tt_layer& layer, int64_t m, float* row) const {
        const tt_rotation& table = s_.batch->rotations[layer.rotation];
        const int64_t at = s_.batch->positions[m] * table.stride;
        for (int d = 0; d < m_.rotary_half; d += 16) {
            const F cosine = V::load(table.cosines + at + d), sine = V::load(table.sines + at + d);
            const F a = V::load(row + d), b = V::load(row + m_.rotary_half + d);
            V::store(row + d, V::sub(V::mul(a, cosine), V::mul(b, sine)));
            V::store(row + m_.rotary_half + d, V::fma(b, cosine, V::mul(a, sine)));
        }
    }

    void attend(int index) {
        switch (s_.batch->kv_type) {
            case TT_KV_BF16: return attend_as<Attention<V, FloatRows<V, Bfloat>>>(index);
            case TT_KV_FP16: return attend_as<Attention<V, FloatRows<V, Half>>>(index);
            case TT_KV_INT8: return attend_as<Int8Attention<V>>(index);
            case TT_KV_INT4: return attend_as<Attention<V, Int4Rows<V>>>(index);
            default: return attend_as<Attention<V, FloatRows<V, float>>>(index);
        }
    }

    // Whoever is free takes the next job: later rows of a prompt see more keys than earlier ones.
    template <class Kind>
    void attend_as(int index) {
        Kind attention(s_, index, s_.scratch[member_.index]);
        const auto count = static_cast<int64_t>(s_.jobs.size());
        for (int64_t job; (job = s_.next_job[index].fetch_add(1)) < count;) {
            attention.run(s_.jobs[job]);
        }
    }

    // ------------------------------------------------------------------ feed-forward
    // This member's share of activation(gate) * up, quantised for the next product.
    void gate(const tt_layer& layer, const Activations& x) {
        const int64_t up = m_.intermediate / kRows;
        const auto [lo, hi] = member_.share(m_.intermediate / kGroup);
        const auto pair = [&](int64_t i) { return std::pair<int64_t, int64_t>(i, up + i); };
        const auto expect = [&](int64_t i, int64_t m, int count) {
            bring_rows(s_.gated + m * m_.intermediate + i * kRows, m_.intermediate, 64, count);
        };
        multiply<V>(*layer.gate_up, x, 2 * lo, 2 * hi, pair, expect,
                    [&](int64_t i, int64_t m, int count, const float* out) {
                        float* to = s_.gated + m * m_.intermediate + i * kRows;
                        for (int r = 0; r < count; ++r, to += m_.intermediate) {
                            V::store(to, V::mul(activate(V::load(out + 32 * r)), V::load(out + 32 * r + 16)));
                        }
                    });
        for (int64_t m = 0; m < s_.rows; ++m) {
            const float* row = s_.gated + m * m_.intermediate;
            quantize_groups<V>(s_.gated_quants, m, lo, hi, [&](int64_t k) { return V::load(row + k); });
        }
    }

    F activate(F x) const {
        F t = x;
        if (m_.activation == TT_GELU_TANH) {
            // x / 2 (1 + tanh(u)) = x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3)
            const F cubed = V::mul(V::mul(x, x), V::mul(x, V::set1(0.044715f)));
            t = V::mul(V::add(x, cubed), V::set1(1.5957691f));
        }
        const F e = exponential<V>(V::min(V::sub(V::zero(), t), V::set1(80.0f)));
        return V::div(x, V::add(V::set1(1.0f), e));
    }

    // ------------------------------------------------------------------ head
    void run_head() {
        const tt_batch& batch = *s_.batch;
        const Activations x = activations_at(s_.shared.quants, batch.num_logits, m_.hidden);
        const float* post = m_.layers[m_.num_layers - 1].post_ffn_norm;
        const auto [lo, hi] = member_.share(batch.num_logits);
        for (int64_t i = lo; i < hi; ++i) {
            const int64_t at = batch.logit_rows[i] * m_.hidden;
            add_row(s_.x[current_] + at, s_.y + at, post);
            quantize_normed(x, i, row_, m_.norm);
        }
        member_.barrier();
        multiply_share<V>(*m_.head, x, batch.logits, m_.head->rows, member_);
        laps_.lap(m_.num_layers, TT_PART_HEAD);
    }

    StepState& s_;
    const tt_model& m_;
    const Member& member_;
    float* const row_;
    Laps laps_;  // the calling thread's
    int current_;
    bool pending_;
};

template <class V>
void run_step(StepState& state, const Member& member) {
    StepThread<V>(state, member).run();
}

template <class V>
void run_multiply(const tt_matrix& w, const float* x, int64_t count, float* y, void* activations,
                  const Member& member) {
    const Activations to = activations_at(activations, count, w.columns);
    const auto [lo, hi] = member.share(count);
    const auto [first, end] = count > 1 ? std::pair<int64_t, int64_t>(0, w.columns / kGroup)
                                        : member.share(w.columns / kGroup);
    for (int64_t m = count > 1 ? lo : 0; m < (count > 1 ? hi : 1); ++m) {
        const float* row = x + m * w.columns;
        quantize_groups<V>(to, m, first, end, [&](int64_t k) { return V::load(row + k); });
    }
    member.barrier();
    multiply_share<V>(w, to, y, w.rows, member);
}

}  // namespace tt
